import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { JsonSchemas } from "../../catalog/json-schemas.ts";
import type { Tool, ToolContext } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { JsonObject } from "../client/json-object.ts";
import type { ListName } from "../client/server-handlers.ts";
import { CALL_TIMEOUT_MS, type Progress, type ServerSession } from "../client/server-session.ts";
import { LastLines } from "../client/transport/last-lines.ts";
import { hubNames } from "./hub-names.ts";
import type { HubServer, McpServerInfo } from "./hub-server.ts";
import { Instances } from "./instances.ts";
import { listTools } from "./list-tools.ts";
import { OpenCall } from "./open-call.ts";
import { type Definition, proxiedTool } from "./proxied-tool.ts";
import { type InstanceParts, openInstance, type ServerInstance } from "./server-instance.ts";
import type { ShownLists } from "./sources/pinned-lists.ts";
import { blockedTool, type ServerPin } from "./sources/server-pin.ts";

const INSTANCES_MAX = 32;
const AGAIN_FIRST_MS = 1_000;
const AGAIN_LAST_MS = 300_000;
/** Of all pages of a list. */
const LIST_MS = 60_000;
/** A call has a clock of its own. */
const NO_LIMIT_MS = 24 * 3_600_000;
/** So many problems of its tools are told of one by one. */
const TOLD_MAX = 10;
/** What is kept of what a server writes to stderr. */
const LOG = { bytes: 64 * 1_024, lines: 1_000 };
/** The key of the instance that lists the tools. */
const LISTS = "lists";

export interface UpstreamParts extends InstanceParts {
  readonly idleMs: number;
  /** Of the names that callers see. */
  readonly prefix: string;
  readonly report: (problem: string) => void;
  /** Called after the tools have changed. */
  readonly changed: () => void;
  readonly stateChanged: () => void;
  /** Whose sandboxes its instances run in. Asked at each start, as its rights change. */
  readonly principal: () => Promise<Principal>;
  /** Rejects with `FORBIDDEN` for a caller who may not use it. */
  readonly authorise: (principal: Principal) => Promise<void>;
  readonly pin: ServerPin;
}

type State = { readonly state: "starting" | "ready" } | { readonly state: "failed"; readonly error: BelljarError };

/**
 * One server of the hub. Its tools are those that it listed last; nobody waits for it to list them. It has an instance for each caller and
 * client, which starts with the first call and ends when it is idle. Disposing it ends them.
 */
export class Upstream implements AsyncDisposable {
  readonly #server: HubServer;
  /** What stands for it in names. */
  #label: string;
  readonly #parts: UpstreamParts;
  readonly #instances: Instances<ServerInstance>;
  readonly #closing = new AbortController();
  readonly #looking: Promise<void>;
  readonly #said = new LastLines(LOG);
  /** Problems of its tools that were told. */
  readonly #told = new Set<string>();
  #state: State = { state: "starting" };
  #tools: readonly Tool[] = [];
  #shown: ShownLists | undefined;
  #digest = "";
  #failures = 0;
  /** Whose instance said last that its tools are others. */
  #teller: ServerInstance | undefined;
  #isWanted = false;
  #wake: () => void = () => undefined;
  /** Told after the next list. */
  readonly #waiting: (() => void)[] = [];

  constructor(server: HubServer, label: string, parts: UpstreamParts) {
    this.#server = server;
    this.#label = label;
    this.#parts = parts;
    const open = (signal: AbortSignal) => this.#open(signal);
    this.#instances = new Instances({ open, idleMs: parts.idleMs, most: INSTANCES_MAX, changed: parts.stateChanged });
    this.restored = this.refresh().catch((cause: unknown) => parts.report(String(cause)));
    this.#looking = this.#keepLooking();
  }

  /** Resolves once it has the tools that are known of it from before this process. */
  readonly restored: Promise<void>;

  /** Begins to show what is approved and listed now, under the names of now. */
  async refresh(label = this.#label): Promise<void> {
    this.#label = label;
    this.#shown = this.#parts.pin.shown() ?? this.#shown;
    if (!this.#shown) return;
    this.#tools = await this.#toTools((this.#shown.lists["tools"] ?? []) as readonly Definition[]);
    this.#parts.changed();
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  info(): McpServerInfo {
    const { name, target, settings } = this.#server;
    const isolation = target.kind === "stdio" ? settings.isolation : "none";
    const { state, error } = { error: undefined, ...this.#state };
    return {
      name,
      state: state === "ready" && this.#instances.size === 0 ? "stopped" : state,
      transport: target.kind === "stdio" ? "stdio" : "http",
      isolation,
      ...(isolation === "sandbox" && { network: settings.network }),
      tools: this.#tools.map((tool) => tool.name),
      instances: this.#instances.size,
      ...(error && { error: { code: error.code, message: error.message } }),
    };
  }

  /** The last lines that its instances wrote to stderr. */
  logs(): readonly string[] {
    return this.#said.lines();
  }

  /** Ends its instances, and lists its tools anew. Resolves once that has succeeded or failed. */
  async restart(): Promise<void> {
    await this.#instances.endAll();
    this.#state = { state: "starting" };
    this.#failures = 0;
    this.#told.clear();
    if (this.#closing.signal.aborted) return;
    const listed = new Promise<void>((resolve) => void this.#waiting.push(resolve));
    this.#want();
    await listed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#wake();
    await Promise.all([this.#looking, this.#instances[Symbol.asyncDispose]()]);
  }

  async #open(signal: AbortSignal): Promise<ServerInstance> {
    let instance: ServerInstance | undefined;
    const listChanged = (list: ListName): void => {
      if (list !== "tools") return;
      this.#teller = instance ?? this.#teller;
      this.#want();
    };
    const said = (chunk: Buffer): void => this.#said.add(chunk);
    const principal = await this.#parts.principal();
    instance = await openInstance(this.#parts, this.#server, { principal, signal, listChanged, said });
    return instance;
  }

  #want(): void {
    this.#isWanted = true;
    this.#wake();
  }

  /** Lists the tools at once, when somebody wants it and at most once a second, and after a failure later and later. */
  async #keepLooking(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      this.#isWanted = false;
      const waiting = this.#waiting.splice(0);
      await this.#look();
      for (const tell of waiting) tell();
      await wait(AGAIN_FIRST_MS, undefined, { signal, ref: false }).catch(() => undefined);
      await this.#pause(this.#failures === 0 ? NO_LIMIT_MS : Math.min(AGAIN_LAST_MS, AGAIN_FIRST_MS * 2 ** this.#failures));
    }
    for (const tell of this.#waiting) tell();
  }

  /** Until the time is up, or somebody wants a list. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => (clearTimeout(timer), resolve());
      if (this.#isWanted || this.#closing.signal.aborted) this.#wake();
    });
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const key = (this.#teller && this.#instances.keyOf(this.#teller)) ?? LISTS;
    try {
      await this.#instances.use(key, this.#closing.signal, async ({ session }) => this.#take(await this.#list(session)));
      this.#state = { state: "ready" };
      this.#failures = 0;
    } catch (cause) {
      if (this.#closing.signal.aborted) return;
      this.#fail(cause);
    }
    this.#parts.stateChanged();
  }

  /** Its start has a limit of its own. */
  async #list(session: ServerSession): Promise<readonly Definition[]> {
    const late = AbortSignal.timeout(LIST_MS);
    try {
      return await listTools(session, AbortSignal.any([this.#closing.signal, late]));
    } catch (cause) {
      if (!late.aborted) throw cause;
      throw new BelljarError("EXEC_TIMEOUT", `The server "${this.#server.name}" did not list its tools in ${LIST_MS} ms`, { cause });
    }
  }

  #fail(cause: unknown): void {
    this.#failures += 1;
    const error = cause instanceof BelljarError ? cause : new BelljarError("SERVER_UNREACHABLE", String(cause), { cause });
    // Its last words differ at every start.
    const isNew = this.#state.state !== "failed" || firstLine(this.#state.error) !== firstLine(error);
    this.#state = { state: "failed", error };
    if (isNew) this.#parts.report(error.message);
  }

  /** Tells of a change only if there is one. */
  async #take(listed: readonly Definition[]): Promise<void> {
    const digest = createHash("sha256").update(JSON.stringify(listed)).digest("base64");
    if (digest === this.#digest) return;
    this.#shown = await this.#parts.pin.take({ tools: listed });
    await this.refresh();
    this.#digest = digest;
  }

  async #toTools(listed: readonly Definition[]): Promise<readonly Tool[]> {
    const { select, rename } = this.#server.settings;
    const known = new Set(listed.map(({ name }) => name));
    const absent = [...(select ?? []), ...Object.keys(rename)].filter((name) => !known.has(name));
    for (const name of absent) this.#tell(name, `has no tool ${JSON.stringify(name)}, which its entry names`);
    const found = select ? listed.filter(({ name }) => select.has(name)) : listed;
    const shown = found.map(({ name }) => (Object.hasOwn(rename, name) ? (rename[name] ?? name) : name));
    const names = hubNames(this.#parts.prefix, this.#label, shown);
    const schemas = await this.#parts.schemas();
    return found.flatMap((definition, index) => {
      try {
        return [this.#toTool(definition, names[index] ?? definition.name, schemas)];
      } catch (cause) {
        if (!(cause instanceof BelljarError)) throw cause;
        this.#tell(definition.name, `has a tool ${JSON.stringify(definition.name.slice(0, 100))} that is left out: ${cause.message}`);
        return [];
      }
    });
  }

  #toTool(definition: Definition, name: string, schemas: JsonSchemas): Tool {
    const { name: tool } = definition;
    return proxiedTool({ name, server: this.#server.name, definition, schemas, call: (context, args) => this.#call(context, tool, args) });
  }

  /** Once for each tool, and of the first ones alone: a server may have any number, and list them again and again. */
  #tell(tool: string, problem: string): void {
    if (this.#told.has(tool) || this.#told.size > TOLD_MAX) return;
    this.#told.add(tool);
    this.#parts.report(`The server "${this.#server.name}" ${this.#told.size > TOLD_MAX ? "has more such tools" : problem}`);
  }

  /** A call that an HTTP server refused because it had lost the session had no effect, and is made once more. */
  async #call(context: ToolContext, tool: string, args: JsonObject): Promise<JsonObject> {
    if (this.#shown?.blocked.has(`tools/${tool}`)) throw blockedTool(this.#server.name, tool);
    await this.#parts.authorise(context.principal);
    const key = keyOf(context);
    // It has served no caller yet.
    this.#instances.handOver(LISTS, key);
    let isLost = false;
    try {
      return await this.#instances.use(key, context.signal, (instance) =>
        this.#ask(instance, context, { name: tool, arguments: args }).catch((cause: unknown) => {
          isLost = instance.session.isLost();
          throw cause;
        }),
      );
    } catch (cause) {
      if (!isLost) throw cause;
    }
    return this.#instances.use(key, context.signal, (instance) => this.#ask(instance, context, { name: tool, arguments: args }));
  }

  async #ask(instance: ServerInstance, context: ToolContext, params: JsonObject): Promise<JsonObject> {
    const { session, calls } = instance;
    const { callTimeoutMs = CALL_TIMEOUT_MS, name } = this.#server.target;
    using call = new OpenCall(context, callTimeoutMs);
    const { signal } = call;
    calls.add(call);
    try {
      const onProgress = (progress: Progress): void => context.progress(toProgress(progress));
      return await session.request("tools/call", params, { signal, onProgress, timeoutMs: NO_LIMIT_MS });
    } catch (cause) {
      if (signal.aborted && context.clientId === undefined) instance.refuseQuestions();
      if (call.isLate) throw new BelljarError("EXEC_TIMEOUT", `The server "${name}" did not answer within ${callTimeoutMs} ms`, { cause });
      throw cause;
    } finally {
      calls.delete(call);
    }
  }
}

function firstLine({ message }: Error): string | undefined {
  return message.split("\n", 1)[0];
}

/** Two callers, or two clients of one, never share an instance. */
function keyOf({ principal, clientId }: Pick<ToolContext, "principal" | "clientId">): string {
  return JSON.stringify([principal.id, clientId ?? null]);
}

function toProgress({ progress, total, message }: Progress) {
  return { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) };
}
