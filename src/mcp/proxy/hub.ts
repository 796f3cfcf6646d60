import type { Caller, ChangeListener } from "../../catalog/caller.ts";
import type { ToolSource } from "../../catalog/tool-source.ts";
import type { Tool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { watchNumberedFiles } from "../../files/numbered-file.ts";
import { ensurePrivateFolder } from "../../files/private-files.ts";
import type { CountedParts } from "../../catalog/counted.ts";
import { LIST_TOKENS, type Listing, listWithin } from "../../catalog/unlisted.ts";
import { LOCAL, type Principal } from "../../sandbox/sandbox.ts";
import type { ListName } from "../client/server-handlers.ts";
import type { PromptDoor } from "../server/prompt-door.ts";
import type { ResourceDoor } from "../server/resource-door.ts";
import type { HubFile, HubServer, McpServerDetails, McpServerInfo, ServerUpdate } from "./hub-server.ts";
import { OwnerServers } from "./owner-servers.ts";
import { HubLinks } from "./relay/hub-links.ts";
import { HubPrompts } from "./relay/hub-prompts.ts";
import { HubResources } from "./relay/hub-resources.ts";
import type { HubView } from "./relay/hub-view.ts";
import type { BegunLogin } from "./relay/held-login.ts";
import { ListBudget } from "./relay/list-budget.ts";
import type { LoginWish } from "./relay/upstream-login.ts";
import { assertMayUse } from "./sources/may-have.ts";
import { assertMayLogIn } from "./sources/may-manage.ts";
import { ServerPin } from "./sources/server-pin.ts";
import type { UpdateWish } from "./server-updates.ts";
import { Upstream } from "./upstream.ts";
import type { UpstreamParts } from "./upstream-parts.ts";

export interface HubParts extends Omit<
  UpstreamParts,
  "changed" | "stateChanged" | "links" | "owner" | "principal" | "authorise" | "pin" | "budget"
> {
  /** How many tools a list shows, of servers whose entries say nothing of it; the others are found by a search. */
  readonly listMax: number;
  /** Where definitions are kept as they were approved. */
  readonly pins: string;
  /** With whose rights an owner's server runs. Rejects with `FORBIDDEN` for an owner who may not have it any more. */
  readonly principalOf: (owner: string, server: HubServer) => Promise<Principal>;
  /** A text without the secrets that can be recognised in it. */
  readonly redact: (text: string) => string;
}

/**
 * Other servers' tools, resources and prompts. Each owner has servers of its own. The local user's are seen by those callers too whose token names
 * them (`server:NAME`), and nobody else sees any. Disposing it ends the servers.
 */
export class Hub implements ToolSource, HubView, AsyncDisposable {
  readonly #owners = new Map<string, OwnerServers>();
  readonly #listeners: Readonly<Record<ListName, Set<ChangeListener>>> = { tools: new Set(), resources: new Set(), prompts: new Set() };
  readonly #links = new HubLinks((principal) => this.upstreamsOf(principal).flatMap(({ links }) => links ?? []));
  readonly #watchers = new Set<() => void>();
  readonly #owned: AsyncDisposable[] = [];
  readonly #parts: HubParts;
  /** Whether a caller was shown some of the local user's servers. */
  #isShared = false;

  /** Begins to start these servers of the local user, and waits for none. */
  constructor(file: HubFile, parts: HubParts) {
    this.#parts = parts;
    this.set(LOCAL.id, file);
  }

  /** From now on these are the owner's servers. Those that are as before go on. */
  set(owner: string, file: HubFile): void {
    const known = this.#owners.get(owner);
    const isNone = file.servers.length + file.unusable.length + (file.waiting?.length ?? 0) === 0;
    if (!known && isNone) return;
    const servers = known ?? this.#open(owner);
    this.#owners.set(owner, servers);
    servers.set(file);
  }

  /** Folders of the host that servers of any owner may write. */
  writtenFolders(): readonly string[] {
    return [...this.#owners.values()].flatMap((servers) => servers.writtenFolders());
  }

  /** Resolves once the owner's tools are there that are known from before this process. */
  async restored(owner: string): Promise<void> {
    await this.#owners.get(owner)?.restored();
  }

  list({ principal }: Pick<Caller, "principal">): readonly Tool[] {
    const listings = new Map(this.upstreamsOf(principal).map(({ name, listing }) => [name, listing]));
    const listingOf = ({ from }: Tool): Listing => listings.get(from?.server ?? "") ?? "auto";
    return listWithin([...this.#toolsOf(principal).values()], listingOf, { tools: this.#parts.listMax, tokens: LIST_TOKENS });
  }

  find({ principal }: Caller, name: string): Tool | undefined {
    const own = this.#owners.get(principal.id)?.tools.get(name);
    return own ?? this.#owners.get(LOCAL.id)?.toolOf(this.#sharedWith(principal), name);
  }

  /** Of a server that wants a login nobody knows the tools, so that its names alone say whose they are. */
  whyNone({ principal }: Caller, name: string): BelljarError | undefined {
    const { prefix } = this.#parts;
    if (prefix === "") return undefined;
    return this.upstreamsOf(principal).find(({ label, wantedLogin }) => wantedLogin && name.startsWith(`${prefix}${label}_`))?.wantedLogin;
  }

  onChange(listener: ChangeListener): () => void {
    return this.onList("tools", listener);
  }

  onList(list: ListName, listener: ChangeListener): () => void {
    const entry: ChangeListener = (ownerId) => listener(ownerId);
    this.#listeners[list].add(entry);
    return () => this.#listeners[list].delete(entry);
  }

  /** The principal's own, and those of the local user's that its token names, unless one of its own has that name. */
  upstreamsOf(principal: Principal): readonly Upstream[] {
    const own = this.#owners.get(principal.id)?.upstreams ?? [];
    const named = this.#sharedWith(principal);
    const shared = named.length === 0 ? [] : (this.#owners.get(LOCAL.id)?.upstreams ?? []).filter(({ name }) => named.includes(name));
    return [...own, ...shared.filter(({ name, label }) => !own.some((one) => one.name === name || one.label === label))];
  }

  /** The doors to what the servers have beside tools. */
  doors(parts: CountedParts): { readonly resources: ResourceDoor; readonly prompts: PromptDoor } {
    const options = { ...parts, view: this, links: this.#links };
    return { resources: new HubResources(options), prompts: new HubPrompts(options) };
  }

  /** The principal's own, and of the local user's those that its token names: of these it learns the state and the tools. */
  servers(principal: Principal): readonly McpServerInfo[] {
    const own = this.#owners.get(principal.id)?.infos() ?? [];
    const named = this.#sharedWith(principal).filter((name) => !own.some((one) => one.name === name));
    const shared = named.length === 0 ? [] : (this.#owners.get(LOCAL.id)?.infos() ?? []).filter(({ name }) => named.includes(name));
    return [...own, ...shared.map(({ name, state, tools, instances }) => ({ name, state, tools, instances }))];
  }

  /** One of the principal's own. Throws `MCP_SERVER_NOT_FOUND`. */
  details(principal: Principal, name: string): McpServerDetails {
    const details = this.#owners.get(principal.id)?.details(name);
    if (details) return details;
    throw unknownServer(name);
  }

  /** The last lines of its stderr. Throws as `restart` rejects. */
  logs(principal: Principal, name: string): readonly string[] {
    return this.#find(principal, name).logs();
  }

  /**
   * Ends it, and starts it anew. Rejects with `MCP_SERVER_NOT_FOUND`, with `MCP_SERVER_NOT_APPROVED`, and with `CONFIG_INVALID` for an entry that
   * cannot be used.
   */
  async restart(principal: Principal, name: string): Promise<void> {
    return this.#find(principal, name).restart();
  }

  /** Installs the newest version of the package that it runs, and starts it anew if that is another one. Rejects as `restart` and `Upstream.update`. */
  async update(
    principal: Principal,
    { name, ...wish }: UpdateWish & { readonly name: string },
    signal: AbortSignal,
  ): Promise<ServerUpdate> {
    return this.#find(principal, name).update(wish, signal);
  }

  /** Begins a login at one of the principal's servers. Rejects as `restart`, with `FORBIDDEN`, and as `Upstream.beginLogin`. */
  async beginLogin(principal: Principal, name: string, wish: LoginWish, signal: AbortSignal): Promise<BegunLogin> {
    return this.#forLogin(principal, name).beginLogin(wish, signal);
  }

  /** Ends it. Rejects as `beginLogin`, and as `Upstream.finishLogin`. */
  async finishLogin(principal: Principal, name: string, query: URLSearchParams): Promise<void> {
    return this.#forLogin(principal, name).finishLogin(query);
  }

  /** Approves the definitions of one of the owner's servers, as it listed them last. Rejects with `MCP_SERVER_CHANGED`. */
  async approve(owner: string, name: string, digest?: string): Promise<void> {
    await this.#owners.get(owner)?.approve(name, digest);
  }

  /** Watches what other processes approve, until it is disposed. */
  async watchPins(): Promise<void> {
    const { pins, report } = this.#parts;
    await ensurePrivateFolder(pins);
    const failed = (cause: unknown): void => report(`What other processes approve is not noticed: ${String(cause)}`);
    const changed = (name: string): void => {
      for (const servers of this.#owners.values()) servers.pinChanged(name).catch(failed);
    };
    const watcher = watchNumberedFiles(pins, { changed, failed });
    this.own({ [Symbol.asyncDispose]: async () => watcher.close() });
  }

  /** Gives what forgets what was approved of a server, for when it is removed. */
  forgetting(owner: string, name: string): () => Promise<void> {
    return this.#owners.get(owner)?.forgetting(name) ?? (async () => undefined);
  }

  /** Calls back after a server's state has changed, until the returned function is called. */
  onState(watcher: () => void): () => void {
    const entry = (): void => watcher();
    this.#watchers.add(entry);
    return () => this.#watchers.delete(entry);
  }

  /** From now on it is disposed with the hub, before the servers. */
  own(disposable: AsyncDisposable): void {
    this.#owned.push(disposable);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const owned of this.#owned) await owned[Symbol.asyncDispose]();
    const ended = await Promise.allSettled([...this.#owners.values()].map((servers) => servers[Symbol.asyncDispose]()));
    await this.#parts.programs?.[Symbol.asyncDispose]();
    const failed = ended.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  }

  #open(owner: string): OwnerServers {
    const { report, redact, pins } = this.#parts;
    const stateChanged = (): void => this.#watchers.forEach((watcher) => watcher());
    const parts = { ...this.#parts, owner, links: this.#links, stateChanged, budget: new ListBudget() };
    return new OwnerServers({
      report,
      redact,
      stateChanged,
      changed: (list) => this.#tell(owner, list),
      open: (server, label, changed) => {
        const pin = new ServerPin({ folder: pins, owner, server, report });
        const principal = (): Promise<Principal> => this.#parts.principalOf(owner, server);
        const authorise = (caller: Principal): Promise<void> => assertMayUse(owner, caller, server);
        return { pin, upstream: new Upstream(server, label, { ...parts, pin, principal, authorise, changed }) };
      },
    });
  }

  /** A change of the local user's servers is one for those who share them, too. */
  #tell(owner: string, list: ListName): void {
    for (const listener of this.#listeners[list]) listener(owner === LOCAL.id && this.#isShared ? undefined : owner);
  }

  /** Of two tools of one name the caller's own counts. */
  #toolsOf(principal: Principal): ReadonlyMap<string, Tool> {
    const own = this.#owners.get(principal.id)?.tools ?? new Map<string, Tool>();
    const shared = this.#owners.get(LOCAL.id)?.toolsOf(this.#sharedWith(principal)) ?? [];
    return shared.length === 0 ? own : new Map([...shared.map((tool) => [tool.name, tool] as const), ...own]);
  }

  /** The names of the local user's servers that the principal's token names. */
  #sharedWith({ id, grants }: Principal): readonly string[] {
    const named = id === LOCAL.id ? [] : (grants?.servers ?? []);
    this.#isShared ||= named.length > 0;
    return named;
  }

  #forLogin(principal: Principal, name: string): Upstream {
    const upstream = this.#find(principal, name);
    assertMayLogIn(principal, upstream);
    return upstream;
  }

  /** Throws `MCP_SERVER_NOT_FOUND`. */
  #find({ id }: Principal, name: string): Upstream {
    const upstream = this.#owners.get(id)?.find(name);
    if (upstream) return upstream;
    throw unknownServer(name);
  }
}

/** `advice`: what else may be done. */
export function unknownServer(name: string, advice = ""): BelljarError {
  const shown = JSON.stringify(name.slice(0, 100));
  return new BelljarError(
    "MCP_SERVER_NOT_FOUND",
    `There is no MCP server ${shown}; ${advice}${advice && " "}list them to see which there are`,
  );
}
