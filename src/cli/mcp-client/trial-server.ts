import { printableText } from "../../files/printable.ts";
import { BelljarError } from "../../errors.ts";
import type { JsonObject } from "../../mcp/client/json-object.ts";
import type { HubServer } from "../../mcp/proxy/hub-server.ts";
import { ListBudget, ListShare } from "../../mcp/proxy/relay/list-budget.ts";
import { listItems } from "../../mcp/proxy/relay/list-items.ts";
import { TOOLS } from "../../mcp/proxy/relay/list-server.ts";
import { type InstanceParts, openInstance, type ServerInstance } from "../../mcp/proxy/server-instance.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { toToolArguments } from "../arguments-by-schema.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { openLocalStack, readConfig } from "../compose/open-stack.ts";
import { openHomeSecretStore } from "../compose/open-home-secret-store.ts";
import { serverParts } from "../compose/server-parts.ts";
import { printLine } from "../print.ts";
import { isRecord } from "../../mcp/client/config/is-record.ts";
import { didYouMean } from "../../files/suggest.ts";

/** A server that a person tries. Disposing it ends it. */
export interface TrialServer extends AsyncDisposable {
  /** Why it does not serve. */
  readonly problem: BelljarError | undefined;
  /** The names of its tools. */
  readonly tools: readonly string[];
  /** Rules that would have allowed what its network has refused since it was asked before, and the lines that tell of it. */
  missed(): Promise<Missed>;
  /** Calls a tool, with its arguments as a person types them. Rejects with `USAGE`, and as the call does. */
  call(tool: string, words: readonly string[]): Promise<JsonObject>;
}

export interface Missed {
  readonly rules: readonly string[];
  readonly lines: readonly string[];
}

/** Starts servers as the hub does, for one command. Disposing it closes the home. */
export interface Trials extends AsyncDisposable {
  /** One that does not start is told in what it gives. */
  open(server: HubServer): Promise<TrialServer>;
}

/** Opens the home. */
export async function openTrials(call: CommandCall, context: CommandContext): Promise<Trials> {
  const config = readConfig(call, context);
  const stack = await openLocalStack(config, context);
  const report = (problem: string): void => printLine(context.stderr, `belljar: ${printableText(problem)}`);
  const secrets = openHomeSecretStore(config);
  const parts = serverParts({ config, sandboxes: stack.sandboxes, secrets, templates: () => stack.templates(), report });
  return {
    open: (server) => openTrial(parts, server, context),
    async [Symbol.asyncDispose]() {
      await parts.programs[Symbol.asyncDispose]();
      await stack[Symbol.asyncDispose]();
    },
  };
}

async function openTrial(parts: InstanceParts, server: HubServer, { signal, stderr }: CommandContext): Promise<TrialServer> {
  const [rules, lines] = [new Set<string>(), new Array<string>()];
  const missed = (more: readonly string[], told: readonly string[]): void => {
    for (const rule of more) rules.add(rule);
    // The last one says what to write into a file.
    lines.push(...told.filter((line) => line.startsWith("- ")));
  };
  const take = (): Missed => {
    const taken = { rules: [...rules], lines: [...lines] };
    rules.clear();
    lines.length = 0;
    return taken;
  };
  const start = { principal: LOCAL, signal, events: NO_EVENTS, said: () => undefined, missed };
  const opened = await openListed(parts, server, start).catch((cause: unknown) => toProblem(cause));
  if (opened instanceof BelljarError) return notServing(opened, take);
  const { instance, tools } = opened;
  return {
    problem: undefined,
    tools: tools.map(nameOf),
    async missed() {
      // What it asked for between calls is told with the end of a request.
      await instance.session.request(TOOLS.method, {}, { signal }).catch((cause: unknown) => printLine(stderr, String(cause)));
      return take();
    },
    async call(name, words) {
      const tool = tools.find((one) => nameOf(one) === name);
      if (!tool) throw unknownTool(server, name, tools.map(nameOf));
      const schema = tool["inputSchema"];
      const args = toToolArguments(isRecord(schema) ? schema : {}, words);
      return instance.session.request("tools/call", { name, arguments: args }, { signal });
    },
    [Symbol.asyncDispose]: () => instance[Symbol.asyncDispose](),
  };
}

const NO_EVENTS = { listChanged: () => undefined, resourceUpdated: () => undefined };

interface Opened {
  readonly instance: ServerInstance;
  readonly tools: readonly JsonObject[];
}

async function openListed(parts: InstanceParts, server: HubServer, start: Parameters<typeof openInstance>[2]): Promise<Opened> {
  const instance = await openInstance(parts, server, start);
  try {
    using share = new ListShare(new ListBudget(), server.name);
    const found = share.replace((take) => listItems(instance.session, TOOLS, { signal: start.signal, leftOut: () => undefined, take }));
    return { instance, tools: await found };
  } catch (cause) {
    await instance[Symbol.asyncDispose]();
    throw cause;
  }
}

function toProblem(cause: unknown): BelljarError {
  if (cause instanceof BelljarError && cause.code !== "CANCELLED") return cause;
  throw cause;
}

function notServing(problem: BelljarError, take: () => Missed): TrialServer {
  return {
    problem,
    tools: [],
    missed: async () => take(),
    call: () => Promise.reject(problem),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function unknownTool({ name }: HubServer, tool: string, tools: readonly string[]): BelljarError {
  return new BelljarError("USAGE", `The server "${name}" lists no tool ${JSON.stringify(tool)}${didYouMean(tool, tools) || "."}`);
}

function nameOf({ name }: JsonObject): string {
  return typeof name === "string" ? name : "";
}
