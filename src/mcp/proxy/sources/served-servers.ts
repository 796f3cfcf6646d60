import { limitTime } from "../../../async/limit-time.ts";
import { TurnsByKey } from "../../../async/turns-by-key.ts";
import { BelljarError } from "../../../errors.ts";
import { LOCAL, type Principal } from "../../../sandbox/sandbox.ts";
import type { HubScope } from "../hub-file.ts";
import type { HubFile, HubServer, McpServerDetails, McpServerInfo, UnusableServer } from "../hub-server.ts";
import { type Hub, unknownServer } from "../hub.ts";
import type { UpdatedProgram } from "../prepare/package-programs.ts";
import { digestOf } from "../../../files/canonical.ts";
import type { BegunLogin } from "../relay/held-login.ts";
import type { LoginWish } from "../relay/upstream-login.ts";
import type { NamedFile } from "./named-file.ts";
import {
  isApproved,
  SERVERS_MAX,
  type ServerStore,
  type StoredServer,
  type StoredServers,
  withApproval,
  withoutServer,
  withServers,
} from "./server-store.ts";
import { assertMayApprove, assertMayManage, mayManage } from "./may-manage.ts";
import { assertMayHave } from "./may-have.ts";
import { toAdd } from "./to-add.ts";
import { readStoredServer } from "./stored-entry.ts";

/** Entries by name, as hosts write them. */
export type Entries = Readonly<Record<string, StoredServer["entry"]>>;

export interface ServedServersOptions {
  readonly hub: Hub;
  readonly store: ServerStore;
  /** What `${...}` stands for in an entry that was written at the machine. */
  readonly scope: HubScope;
  /** That the command line names, read once. */
  readonly file: NamedFile | undefined;
  /** What an owner sent to a Belljar that stored it and served none. */
  readonly sent: (owner: string) => Promise<Entries>;
  readonly report: (problem: string) => void;
}

/** Of the wait for the first list of a new server. */
const FIRST_LIST_MS = 60_000;
const OWNERS_MAX = 10_000;

/**
 * The servers behind this Belljar, by owner: those that owners have added, and for the local user those of the named file. It keeps the hub's set as
 * the files say. It ends with the hub.
 */
export class ServedServers implements AsyncDisposable {
  readonly #options: ServedServersOptions;
  readonly #turns = new TurnsByKey();
  /** Owners that were looked up, by their key in the store. */
  readonly #owners = new Map<string, string>();
  readonly #watches: { close(): void }[] = [];

  private constructor(options: ServedServersOptions) {
    this.#options = options;
  }

  /** Begins with the local user's servers. */
  static async open(options: ServedServersOptions): Promise<ServedServers> {
    const served = new ServedServers(options);
    options.hub.own(served);
    const { store, file, report } = options;
    const changed = (key: string): void => {
      const owner = served.#owners.get(key);
      if (owner !== undefined) void served.#reload(owner);
    };
    const failed = (cause: Error): void => report(`MCP servers that another process adds are not noticed: ${cause.message}`);
    try {
      served.#watches.push(await store.watch({ changed, failed }));
      if (file) served.#watches.push(await file.watchApprovals(() => void served.#fileApproved(), failed));
      await options.hub.watchPins();
    } catch (cause) {
      failed(cause as Error);
    }
    await served.load(LOCAL);
    return served;
  }

  /** Learns an owner's servers, once. Never rejects. */
  async load({ id }: Pick<Principal, "id">): Promise<void> {
    const key = this.#options.store.keyOf(id);
    if (this.#owners.has(key)) return this.#turns.run(id, async () => undefined);
    if (this.#owners.size >= OWNERS_MAX) this.#owners.clear();
    this.#owners.set(key, id);
    await this.#reload(id);
    await this.#options.hub.restored(id);
  }

  /** The file that the command line names has changed. Rejects as `NamedFile.take`. */
  async setFile(content: HubFile): Promise<void> {
    await this.#options.file?.take(content);
    await this.#reload(LOCAL.id);
  }

  servers(principal: Principal): readonly McpServerInfo[] {
    return this.#options.hub.servers(principal);
  }

  /** Rejects with `MCP_SERVER_NOT_FOUND`. */
  async details(principal: Principal, name: string): Promise<McpServerDetails> {
    const details = this.#options.hub.details(principal, name);
    if (details.state !== "needs_approval") return details;
    const ofFile = this.#waitingOfFile(principal, name);
    if (ofFile) return { ...details, digest: digestOf(ofFile) };
    const entry = (await this.#options.store.read(principal.id))?.get(name)?.entry;
    return entry ? { ...details, digest: digestOf(entry) } : details;
  }

  logs(principal: Principal, name: string): readonly string[] {
    return this.#options.hub.logs(principal, name);
  }

  restart(principal: Principal, name: string): Promise<void> {
    return this.#options.hub.restart(principal, name);
  }

  /** Rejects with `FORBIDDEN`, and as `Hub.update`. */
  async update(principal: Principal, name: string, signal: AbortSignal): Promise<UpdatedProgram> {
    assertMayManage(principal);
    return this.#options.hub.update(principal, name, signal);
  }

  /** Begins a login, which `finishLogin` ends. Rejects as `Hub.beginLogin`. */
  beginLogin(principal: Principal, name: string, wish: LoginWish, signal: AbortSignal): Promise<BegunLogin> {
    return this.#options.hub.beginLogin(principal, name, wish, signal);
  }

  /** Rejects as `Hub.finishLogin`. */
  finishLogin(principal: Principal, name: string, query: URLSearchParams): Promise<void> {
    return this.#options.hub.finishLogin(principal, name, query);
  }

  /**
   * Adds servers to the principal's own, or puts them in the place of those of the same names: all or none. Servers of a caller without the
   * scope `servers` wait for an approval. Rejects with `CONFIG_INVALID`, `FORBIDDEN`, `MCP_SERVER_NAME_TAKEN` and `QUOTA_EXCEEDED`.
   */
  async add(principal: Principal, entries: Entries): Promise<void> {
    const { store, scope } = this.#options;
    const added = new Map<string, StoredServer>();
    for (const [name, entry] of Object.entries(entries)) {
      this.#assertFree(principal, name);
      const stored: StoredServer = { entry, origin: "network" };
      const server = await readStoredServer(name, stored, scope);
      if (server) await assertMayHave(principal, server);
      added.set(name, mayManage(principal) ? { ...stored, approved: digestOf(entry) } : stored);
    }
    await store.change(principal.id, (servers) => withServers(servers, toAdd(principal, servers, added)));
    await this.#reload(principal.id);
  }

  /** Waits until each of these has listed its tools or has failed, for a minute at most. */
  async settled(principal: Principal, names: readonly string[], signal: AbortSignal): Promise<readonly McpServerInfo[]> {
    const { hub } = this.#options;
    const found = (): readonly McpServerInfo[] => hub.servers(principal).filter(({ name }) => names.includes(name));
    using time = limitTime(signal, FIRST_LIST_MS);
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (!time.signal.aborted && found().some(({ state }) => state === "starting")) return;
        stop();
        resolve();
      };
      const stop = hub.onState(look);
      time.signal.addEventListener("abort", look, { once: true });
      look();
    });
    return found();
  }

  /** Rejects with `FORBIDDEN`, `MCP_SERVER_NOT_FOUND` and `MCP_SERVER_NAME_TAKEN`. */
  async remove(principal: Principal, name: string): Promise<void> {
    assertMayManage(principal);
    this.#assertFree(principal, name);
    const { store, hub } = this.#options;
    if (!(await store.read(principal.id))?.has(name)) throw unknownServer(name);
    const forget = hub.forgetting(principal.id, name);
    await store.change(principal.id, (servers) => withoutServer(servers, name));
    await this.#reload(principal.id);
    // Last: without its pin a server that goes on would have its next list approved.
    await forget();
  }

  /**
   * Approves one of the principal's own servers: that it runs, or what it lists now. `digest`: what stands for what whoever approves has seen.
   * Rejects with `FORBIDDEN`, `MCP_SERVER_NOT_FOUND` and `MCP_SERVER_CHANGED`.
   */
  async approve(principal: Principal, name: string, digest?: string): Promise<void> {
    assertMayManage(principal);
    const { store, hub } = this.#options;
    const details = hub.details(principal, name);
    if (details.state !== "needs_approval") return hub.approve(principal.id, name, digest);
    const ofFile = this.#waitingOfFile(principal, name);
    assertMayApprove(principal, details, ofFile !== undefined);
    if (ofFile) await this.#options.file?.approve(ofFile, digest);
    else await store.change(principal.id, (servers) => withApproval(servers, name, digest));
    await this.#reload(principal.id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const watch of this.#watches) watch.close();
    this.#owners.clear();
    await this.#turns.idle();
  }

  #waitingOfFile({ id }: Principal, name: string): HubServer | undefined {
    return id === LOCAL.id ? this.#options.file?.waiting(name) : undefined;
  }

  async #fileApproved(): Promise<void> {
    if (await this.#options.file?.takeApproved()) await this.#reload(LOCAL.id);
  }

  /** Throws `MCP_SERVER_NAME_TAKEN` for a server of the named file, which only that file changes. */
  #assertFree({ id }: Principal, name: string): void {
    const { file } = this.#options;
    if (id !== LOCAL.id || !file?.names.has(name)) return;
    throw new BelljarError("MCP_SERVER_NAME_TAKEN", `The MCP server "${name}" is named by ${file.name}: change it there`);
  }

  /** Never rejects: an owner's file that cannot be read is told, and what was known of it holds on. */
  async #reload(owner: string): Promise<void> {
    const { hub, report } = this.#options;
    try {
      await this.#turns.run(owner, async () => hub.set(owner, await this.#read(owner)));
    } catch (cause) {
      report(cause instanceof Error ? cause.message : String(cause));
    }
  }

  async #read(owner: string): Promise<HubFile> {
    const named = owner === LOCAL.id ? this.#options.file : undefined;
    const stored = [...(await this.#stored(owner))].filter(([name]) => !named?.names.has(name));
    const own = await Promise.all(stored.map(([name, one]) => this.#readOne(owner, name, one)));
    const file = named?.content;
    return {
      servers: [...(file?.servers ?? []), ...own.flatMap(({ server }) => server ?? [])],
      unusable: [...(file?.unusable ?? []), ...own.flatMap(({ unusable }) => unusable ?? [])],
      waiting: [...(file?.waiting ?? []), ...own.flatMap(({ waiting }) => waiting ?? [])],
    };
  }

  async #readOne(owner: string, name: string, stored: StoredServer): Promise<ReadServer> {
    try {
      const server = await readStoredServer(name, stored, this.#options.scope);
      return isApproved(stored) ? { server } : { waiting: server };
    } catch (problem) {
      if (!(problem instanceof BelljarError)) throw problem;
      return { unusable: { name, problem } };
    }
  }

  /** Whether the local user might add it over HTTP now. */
  async #mayBeAdded(name: string, entry: StoredServer["entry"]): Promise<boolean> {
    try {
      const server = await readStoredServer(name, { entry, origin: "network" }, this.#options.scope);
      if (server) await assertMayHave(LOCAL, server);
      return true;
    } catch (cause) {
      if (cause instanceof BelljarError) return false;
      throw cause;
    }
  }

  /** The first time, what an owner sent to a Belljar that served none. */
  async #stored(owner: string): Promise<StoredServers> {
    const { store, sent } = this.#options;
    const known = await store.read(owner);
    if (known) return known;
    const entries = Object.entries(await sent(owner)).slice(0, SERVERS_MAX);
    if (entries.length === 0) return new Map();
    const first = new Map<string, StoredServer>();
    for (const [name, entry] of entries) {
      const isApproved = owner === LOCAL.id && (await this.#mayBeAdded(name, entry));
      first.set(name, { entry, origin: "network", ...(isApproved && { approved: digestOf(entry) }) });
    }
    await store.change(owner, (servers) => (servers.size === 0 ? withServers(servers, first) : servers));
    return (await store.read(owner)) ?? new Map();
  }
}

interface ReadServer {
  readonly server?: HubServer | undefined;
  readonly waiting?: HubServer | undefined;
  readonly unusable?: UnusableServer;
}
