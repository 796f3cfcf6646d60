import { allPages } from "../../async/all-pages.ts";
import { BelljarError } from "../../errors.ts";
import type { ConfigScope } from "./config/expand.ts";
import { isRecord } from "./config/is-record.ts";
import { loadConfigText } from "./config/load-config-text.ts";
import { readConfigText } from "./config/read-config.ts";
import type { ServerTarget, StdioTarget } from "./config/resolve-server.ts";
import { inputsOf } from "./config/resolve-server.ts";
import type { ConfigFile, ConfiguredServer } from "./config/server-config.ts";
import { exposeNames } from "./exposed-names.ts";
import type { JsonObject } from "./json-object.ts";
import { openKeptSession } from "./kept-session.ts";
import { ServerLogin } from "./oauth/server-login.ts";
import { loadTarget } from "./load-target.ts";
import type { McpClient, McpClientOptions, McpServer, McpTool, ToolList } from "./mcp-client.ts";
import type { ProgramTransport } from "./transport/program-transport.ts";
import { readParamHeaders } from "./param-headers.ts";
import type { ServerHandlers } from "./server-handlers.ts";
import type { ClientSession } from "./person-session.ts";
import { openPersonSession } from "./person-session.ts";
import type { RequestOptions } from "./server-session.ts";

const START_TIMEOUT_MS = 60_000;

/** Where the program of a server runs. Disposing it ends what is left of it. */
export interface ProgramPlace extends AsyncDisposable {
  openProgram(target: StdioTarget): ProgramTransport;
}

export interface PlacedClientOptions extends Omit<McpClientOptions, "config"> {
  /** Undefined for a program that runs on this machine, as all do by default. */
  readonly openPlace?: (target: StdioTarget) => Promise<ProgramPlace | undefined>;
}

interface OpenServer extends McpServer {
  readonly session?: ClientSession;
}

/**
 * Starts the servers of a configuration beside each other. Rejects with `CONFIG_INVALID` for a file that cannot be read, and with
 * `CANCELLED` when the signal aborts, after what was started has ended.
 */
export async function openMcpClient(options: McpClientOptions): Promise<McpClient> {
  return openReadClient([await readMcpConfig(options.config)], options);
}

/** The same, for files that were read before. */
export async function openReadClient(files: readonly ReadConfig[], options: PlacedClientOptions): Promise<McpClient> {
  const opened = await Promise.allSettled(
    files.flatMap(({ file, config }) => {
      const wanted = config.servers.filter(({ name }) => options.only?.includes(name) ?? true);
      const answers = answerInputs(config, wanted, options.ask);
      return wanted.map(async (server) => openServer(server, file, { ...options, inputs: await answers }));
    }),
  );
  const client = toClient(opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : [])));
  const failed = opened.find((one) => one.status === "rejected");
  if (failed) {
    await client[Symbol.asyncDispose]();
    throw failed.reason;
  }
  if (!options.signal?.aborted) return client;
  await client[Symbol.asyncDispose]();
  throw new BelljarError("CANCELLED", "The start of the servers was cancelled");
}

/** A host's configuration, and where it stands. */
export interface ReadConfig {
  readonly file: string;
  readonly config: ConfigFile;
}

/** Reads a host's configuration, and starts nothing. Rejects with `CONFIG_INVALID` for a file that cannot be read. */
export async function readMcpConfig(config: McpClientOptions["config"]): Promise<ReadConfig> {
  const { file, text } = await readText(config);
  return { file, config: readConfigText(text, file) };
}

async function readText(config: McpClientOptions["config"]): Promise<{ readonly file: string; readonly text: string }> {
  if (typeof config !== "string") return { file: "config", text: JSON.stringify(config) };
  return { file: config, text: await loadConfigText(config) };
}

/** Asks once for each input that a server needs which is not disabled, one after the other. */
async function answerInputs(
  { inputs }: ConfigFile,
  servers: readonly ConfiguredServer[],
  ask: McpClientOptions["ask"],
): Promise<ReadonlyMap<string, string>> {
  const needed = new Set(servers.flatMap(({ config }) => (config && !config.isDisabled ? [...inputsOf(config)] : [])));
  const answers = new Map<string, string>();
  for (const input of inputs) if (ask && needed.has(input.id)) answers.set(input.id, await ask(input));
  return answers;
}

async function openServer(server: ConfiguredServer, file: string, scope: PlacedClientOptions & ConfigScope): Promise<OpenServer> {
  const { name, config, problem } = server;
  if (problem) return { name, state: "failed", error: problem };
  if (config.isDisabled) return { name, state: "disabled" };
  try {
    const target = await loadTarget(config, file, scope);
    const session = await openTarget(target, scope);
    const { era, instructions, capabilities } = session;
    return { name, state: "ready", session, era, instructions, capabilities };
  } catch (error) {
    if (error instanceof BelljarError) return { name, state: "failed", error };
    throw error;
  }
}

/** Starts or reaches a server. The place of its program ends with it. */
async function openTarget(target: ServerTarget, scope: PlacedClientOptions): Promise<ClientSession> {
  const place = target.kind === "stdio" ? await scope.openPlace?.(target) : undefined;
  if (!place) return openInPlace(target, scope);
  try {
    const session = await openInPlace(target, scope, place);
    const end = session[Symbol.asyncDispose].bind(session);
    const close = async (): Promise<void> => {
      await end();
      await place[Symbol.asyncDispose]();
    };
    return Object.assign(session, { [Symbol.asyncDispose]: close });
  } catch (cause) {
    await place[Symbol.asyncDispose]();
    throw cause;
  }
}

async function openInPlace(target: ServerTarget, scope: PlacedClientOptions, place?: ProgramPlace): Promise<ClientSession> {
  const { logins, openLoginDoor: openDoor, signal } = scope;
  const oauth = target.kind === "stdio" ? undefined : target.oauth;
  const login = oauth && logins && target.kind !== "stdio" ? new ServerLogin(target, oauth, logins) : undefined;
  const open = async (): Promise<ClientSession> =>
    openKeptSession(target, {
      version: scope.version ?? "0",
      startTimeoutMs: scope.startTimeoutMs ?? target.startTimeoutMs ?? START_TIMEOUT_MS,
      handlers: handlersOf(target.name, scope),
      login,
      ...(place && { openProgram: (program) => place.openProgram(program) }),
      ...(signal && { signal }),
    });
  return login && openDoor ? openPersonSession(open, { login, openDoor, signal }) : open();
}

function handlersOf(server: string, { onElicit, onSample, onListChanged, onMessage }: PlacedClientOptions): ServerHandlers {
  return {
    ...(onElicit && {
      elicit: (params, signal) => onElicit({ server, params, ...(signal && { signal }) }),
      elicitModes: ["form", "url"],
    }),
    ...(onSample && { sample: (params, signal) => onSample({ server, params, ...(signal && { signal }) }) }),
    ...(onListChanged && { listChanged: (list) => onListChanged({ server, list }) }),
    ...(onMessage && { message: (direction, message) => onMessage({ server, direction, message }) }),
  };
}

function toClient(servers: readonly OpenServer[]): McpClient {
  const session = (name: string): ClientSession => sessionOf(servers, name);
  return {
    servers: servers.map(({ session: _session, ...shown }) => shown),
    async listTools({ server, ...options } = {}) {
      if (server === undefined) return listAllTools(servers, options);
      return listAllTools([{ name: server, state: "ready", session: session(server) }], options);
    },
    callTool: ({ server, tool, arguments: args = {} }, options) =>
      session(server).request("tools/call", { name: tool, arguments: args }, options),
    listResources: (server, options) => listAll(session(server), LISTS.resources, options),
    listResourceTemplates: (server, options) => listAll(session(server), LISTS.templates, options),
    readResource: (server, uri, options) => session(server).request("resources/read", { uri }, options),
    listPrompts: (server, options) => listAll(session(server), LISTS.prompts, options),
    getPrompt: ({ server, name, arguments: args = {} }, options) =>
      session(server).request("prompts/get", { name, arguments: args }, options),
    complete: ({ server, ...wish }, options) => session(server).request("completion/complete", { ...wish }, options),
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map(async ({ session: open }) => open?.[Symbol.asyncDispose]()));
    },
  };
}

function sessionOf(servers: readonly OpenServer[], name: string): ClientSession {
  const found = servers.find((server) => server.name === name);
  if (found?.session) return found.session;
  if (found?.error) throw found.error;
  if (found) throw new BelljarError("USAGE", `The server "${name}" is disabled in the configuration`);
  throw new BelljarError("USAGE", `There is no server "${name}"; there is ${servers.map((server) => server.name).join(", ") || "none"}`);
}

async function listAllTools(servers: readonly OpenServer[], options: RequestOptions | undefined): Promise<ToolList> {
  const problems: BelljarError[] = [];
  const lists = await Promise.all(
    servers.map(async ({ name: server, session }) => {
      try {
        const definitions = session ? await listAll(session, LISTS.tools, options) : [];
        const found = definitions.flatMap((definition) =>
          typeof definition["name"] === "string" ? [{ server, tool: definition["name"], definition }] : [],
        );
        return session?.mirrors === true ? found.filter((tool) => isCallable(tool, problems)) : found;
      } catch (cause) {
        if (!(cause instanceof BelljarError) || cause.code === "CANCELLED") throw cause;
        problems.push(cause);
        return [];
      }
    }),
  );
  const tools = lists.flat();
  const names = exposeNames(tools);
  return { tools: tools.map((tool, index) => ({ ...tool, name: names[index] ?? tool.tool })), problems };
}

/** As the specification wants it: a tool whose headers are declared wrongly is left out, and the others stay. */
function isCallable({ server, tool, definition }: Omit<McpTool, "name">, problems: BelljarError[]): boolean {
  const read = readParamHeaders(definition["inputSchema"]);
  if (!("problem" in read)) return true;
  problems.push(
    new BelljarError("SERVER_INCOMPATIBLE", `The server "${server}" has a tool "${tool}" that cannot be called: ${read.problem}`),
  );
  return false;
}

/** The methods of the lists, the ability that a server must have for each, and the field of the answer. */
const LISTS = {
  tools: { method: "tools/list", ability: "tools", field: "tools" },
  resources: { method: "resources/list", ability: "resources", field: "resources" },
  templates: { method: "resources/templates/list", ability: "resources", field: "resourceTemplates" },
  prompts: { method: "prompts/list", ability: "prompts", field: "prompts" },
} as const;

/** All pages. What a server does not say that it has is an empty list, and what is no object is left out. */
async function listAll(
  session: ClientSession,
  { method, ability, field }: (typeof LISTS)[keyof typeof LISTS],
  options?: RequestOptions,
): Promise<JsonObject[]> {
  if (session.capabilities[ability] === undefined) return [];
  const found: JsonObject[] = [];
  const pages = allPages(async (cursor) => {
    const answer = await session.request(method, cursor === undefined ? {} : { cursor }, options);
    const { [field]: items, nextCursor } = answer;
    return { items: Array.isArray(items) ? items : [], nextCursor: typeof nextCursor === "string" ? nextCursor : undefined };
  });
  for await (const item of pages) if (isRecord(item)) found.push(item);
  return found;
}
