import { allPages } from "../../async/all-pages.ts";
import { repeat } from "../../async/repeat.ts";
import type { JsonSchemas } from "../../catalog/json-schemas.ts";
import type { Tool, ToolContext } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { JsonObject } from "../client/json-object.ts";
import type { ListName } from "../client/server-handlers.ts";
import type { Progress, ServerSession } from "../client/server-session.ts";
import { LastLines } from "../client/transport/last-lines.ts";
import type { HubServer, McpServerInfo } from "./hub-server.ts";
import { hubNames } from "./hub-names.ts";
import { Instances } from "./instances.ts";
import { type Definition, definitionSchema, proxiedTool } from "./proxied-tool.ts";
import { type InstanceParts, openInstance, type ServerInstance } from "./server-instance.ts";

const TOOLS_MAX = 10_000;
const INSTANCES_MAX = 32;
const AGAIN_FIRST_MS = 1_000;
const AGAIN_LAST_MS = 300_000;
/** What is kept of what a server writes to stderr. */
const LOG = { bytes: 64 * 1_024, lines: 1_000 };
/** The key of the instance that lists the tools. */
const LISTS = "lists";
/** While all is well nobody looks again. */
const NEVER_MS = 24 * 3_600_000;

export interface UpstreamParts extends InstanceParts {
  readonly idleMs: number;
  /** Of the names that callers see. */
  readonly prefix: string;
  readonly report: (problem: string) => void;
  /** Called after the tools have changed. */
  readonly changed: () => void;
  readonly stateChanged: () => void;
}

export type UpstreamState =
  | { readonly state: "starting" | "ready" | "stopped" }
  | { readonly state: "failed"; readonly error: BelljarError };

/**
 * One server of the hub. Its tools are those that it listed last; nobody waits for it to list them. It has an instance for each caller and
 * client, which starts with the first call and ends when it is idle. Disposing it ends them.
 */
export class Upstream implements AsyncDisposable {
  readonly #server: HubServer;
  readonly #parts: UpstreamParts;
  readonly #instances: Instances<ServerInstance>;
  readonly #looking: AsyncDisposable;
  readonly #closing = new AbortController();
  #state: UpstreamState = { state: "starting" };
  #tools: readonly Tool[] = [];
  readonly #said = new LastLines(LOG);
  #failures = 0;
  #readAt = -AGAIN_FIRST_MS;
  #soon: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(server: HubServer, parts: UpstreamParts) {
    this.#server = server;
    this.#parts = parts;
    const open = (signal: AbortSignal) => this.#open(signal);
    this.#instances = new Instances({ open, idleMs: parts.idleMs, most: INSTANCES_MAX, changed: parts.stateChanged });
    this.#looking = repeat(() => this.#look(), 0);
  }

  get state(): UpstreamState {
    return this.#state.state === "ready" && this.#instances.size === 0 ? { state: "stopped" } : this.#state;
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  info(): McpServerInfo {
    const { name, target, settings } = this.#server;
    const isolation = target.kind === "stdio" ? settings.isolation : "none";
    const { state, error } = { error: undefined, ...this.state };
    return {
      name,
      state,
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
    this.#reading = this.#look().then(() => undefined);
    await this.#reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#soon);
    await this.#looking[Symbol.asyncDispose]();
    await this.#instances[Symbol.asyncDispose]();
    await this.#reading;
  }

  async #open(signal: AbortSignal): Promise<ServerInstance> {
    let session: ServerSession | undefined;
    const listChanged = (list: ListName): void => void (list === "tools" && session && this.#readSoon(session));
    const instance = await openInstance(this.#parts, this.#server, {
      principal: LOCAL,
      signal,
      listChanged,
      said: (chunk) => this.#said.add(chunk),
    });
    session = instance.session;
    return instance;
  }

  /** A server may say at any time that its tools are others, and as often as it likes. */
  #readSoon(session: ServerSession): void {
    if (this.#soon || this.#closing.signal.aborted) return;
    const waitMs = Math.max(0, this.#readAt + AGAIN_FIRST_MS - performance.now());
    this.#soon = setTimeout(() => {
      this.#soon = undefined;
      this.#reading = this.#readAgain(session);
    }, waitMs).unref();
  }

  /** If they cannot be read, the list stays as it was. */
  async #readAgain(session: ServerSession): Promise<void> {
    try {
      this.#tools = await this.#read(session);
      this.#parts.changed();
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
    }
  }

  /** Lists the tools. One that fails is asked again, later and later. */
  async #look(): Promise<number> {
    try {
      await this.#instances.use(LISTS, this.#closing.signal, async ({ session }) => {
        this.#tools = await this.#read(session);
      });
      this.#state = { state: "ready" };
      this.#failures = 0;
    } catch (cause) {
      if (this.#closing.signal.aborted) return NEVER_MS;
      this.#fail(cause);
    }
    this.#parts.changed();
    this.#parts.stateChanged();
    return this.#state.state === "ready" ? NEVER_MS : Math.min(AGAIN_LAST_MS, AGAIN_FIRST_MS * 2 ** this.#failures++);
  }

  #fail(cause: unknown): void {
    const error = cause instanceof BelljarError ? cause : new BelljarError("SERVER_UNREACHABLE", String(cause), { cause });
    // Its last words differ at every start.
    const isNew = this.#state.state !== "failed" || firstLine(this.#state.error) !== firstLine(error);
    this.#state = { state: "failed", error };
    if (isNew) this.#parts.report(error.message);
  }

  async #read(session: ServerSession): Promise<readonly Tool[]> {
    const { settings, name: server } = this.#server;
    this.#readAt = performance.now();
    const found = (await listDefinitions(session)).filter(({ name }) => settings.select?.has(name) ?? true);
    const shown = found.map(({ name }) => (Object.hasOwn(settings.rename, name) ? (settings.rename[name] ?? name) : name));
    const names = hubNames(this.#parts.prefix, server, shown);
    const schemas = await this.#parts.schemas();
    return found.flatMap((definition, index) => this.#toTool(definition, names[index] ?? definition.name, schemas));
  }

  /** One that cannot be used spoils no other. */
  #toTool(definition: Definition, name: string, schemas: JsonSchemas): readonly Tool[] {
    const { name: server } = this.#server;
    try {
      return [proxiedTool({ name, server, definition, schemas, call: (context, args) => this.#call(context, definition.name, args) })];
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
      this.#parts.report(
        `The tool ${JSON.stringify(definition.name.slice(0, 100))} of the server "${server}" is left out: ${cause.message}`,
      );
      return [];
    }
  }

  #call(context: ToolContext, name: string, args: JsonObject): Promise<JsonObject> {
    const { signal } = context;
    const key = keyOf(context);
    // It has served no caller yet.
    this.#instances.handOver(LISTS, key);
    return this.#instances.use(key, signal, async ({ session, calls }) => {
      const onProgress = (progress: Progress): void => context.progress(toProgress(progress));
      calls.add(context);
      try {
        return await session.request("tools/call", { name, arguments: args }, { signal, onProgress });
      } finally {
        calls.delete(context);
      }
    });
  }
}

function firstLine({ message }: Error): string | undefined {
  return message.split("\n", 1)[0];
}

/** Two callers, or two clients of one, never share an instance. */
function keyOf({ principal, clientId }: Pick<ToolContext, "principal" | "clientId">): string {
  return JSON.stringify([principal.id, clientId ?? null]);
}

async function listDefinitions(session: ServerSession): Promise<readonly Definition[]> {
  if (session.capabilities["tools"] === undefined) return [];
  const found: Definition[] = [];
  const seen = new Set<string>();
  const pages = allPages(async (cursor) => {
    const { tools, nextCursor } = await session.request("tools/list", cursor === undefined ? {} : { cursor });
    return { items: Array.isArray(tools) ? tools : [], nextCursor: typeof nextCursor === "string" ? nextCursor : undefined };
  });
  for await (const item of pages) {
    const { data } = definitionSchema.safeParse(item);
    if (!data || seen.has(data.name)) continue;
    seen.add(data.name);
    if (found.push(data) >= TOOLS_MAX) break;
  }
  return found;
}

function toProgress({ progress, total, message }: Progress) {
  return { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) };
}
