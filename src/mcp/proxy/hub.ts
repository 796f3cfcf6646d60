import type { Caller, ChangeListener } from "../../catalog/caller.ts";
import type { ToolSource } from "../../catalog/tool-source.ts";
import type { Tool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { LIST_TOKENS, type Listing, listWithin } from "../../catalog/unlisted.ts";
import { LOCAL, type Principal } from "../../sandbox/sandbox.ts";
import { serverLabels } from "./hub-names.ts";
import type { HubFile, HubServer, McpServerInfo } from "./hub-server.ts";
import type { ListName } from "../client/server-handlers.ts";
import type { PromptDoor } from "../server/prompt-door.ts";
import type { ResourceDoor } from "../server/resource-door.ts";
import type { CountedParts } from "../../catalog/counted.ts";
import { HubLinks } from "./relay/hub-links.ts";
import { HubPrompts } from "./relay/hub-prompts.ts";
import { HubResources } from "./relay/hub-resources.ts";
import type { HubView } from "./relay/hub-view.ts";
import type { UpdatedProgram } from "./prepare/package-programs.ts";
import { Upstream, type UpstreamParts } from "./upstream.ts";

export interface HubParts extends Omit<UpstreamParts, "changed" | "stateChanged" | "links"> {
  /** How many tools a list shows, of servers whose entries say nothing of it; the others are found by a search. */
  readonly listMax: number;
}

const TOLD_MAX = 100;

/**
 * Other servers' tools, resources and prompts. They are the local user's, who named the file with the servers: no other caller sees them. Disposing
 * it ends the servers.
 */
export class Hub implements ToolSource, HubView, AsyncDisposable {
  readonly #upstreams: ReadonlyMap<string, Upstream>;
  readonly #listeners = new Set<ChangeListener>();
  readonly #watchers = new Set<() => void>();
  readonly #listMax: number;
  readonly #report: HubParts["report"];
  readonly #told = new Set<string>();
  readonly #unusable: HubFile["unusable"];
  readonly #links = new HubLinks((principal) => this.upstreamsOf(principal).flatMap(({ links }) => links ?? []));
  readonly #lists: Readonly<Record<"resources" | "prompts", Set<ChangeListener>>> = { resources: new Set(), prompts: new Set() };
  readonly #programs: HubParts["programs"];
  #tools: ReadonlyMap<string, Tool> = new Map();

  /** Begins to start the servers, and waits for none. */
  constructor({ servers, unusable }: HubFile, parts: HubParts) {
    this.#listMax = parts.listMax;
    this.#report = parts.report;
    this.#unusable = unusable;
    this.#programs = parts.programs;
    for (const { problem } of unusable) parts.report(problem.message);
    const changed = (list: ListName): void => this.#changed(list);
    const stateChanged = (): void => this.#watchers.forEach((watcher) => watcher());
    const labels = serverLabels(servers.map(({ name }) => name));
    const open = (server: HubServer): Upstream =>
      new Upstream(server, labels.get(server.name) ?? server.name, { ...parts, links: this.#links, changed, stateChanged });
    this.#upstreams = new Map(servers.map((server) => [server.name, open(server)]));
  }

  list({ principal }: Pick<Caller, "principal">): readonly Tool[] {
    if (principal.id !== LOCAL.id) return [];
    const listingOf = ({ from }: Tool): Listing => this.#upstreams.get(from?.server ?? "")?.listing ?? "auto";
    return listWithin([...this.#tools.values()], listingOf, { tools: this.#listMax, tokens: LIST_TOKENS });
  }

  find({ principal }: Caller, name: string): Tool | undefined {
    return principal.id === LOCAL.id ? this.#tools.get(name) : undefined;
  }

  onChange(listener: ChangeListener): () => void {
    const entry: ChangeListener = (ownerId) => listener(ownerId);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  /** Who sees which servers is decided here. */
  upstreamsOf({ id }: Principal): readonly Upstream[] {
    return id === LOCAL.id ? [...this.#upstreams.values()] : [];
  }

  onList(list: ListName, listener: ChangeListener): () => void {
    if (list === "tools") return this.onChange(listener);
    const entry: ChangeListener = (ownerId) => listener(ownerId);
    this.#lists[list].add(entry);
    return () => this.#lists[list].delete(entry);
  }

  /** The doors to what the servers have beside tools. */
  doors(parts: CountedParts): { readonly resources: ResourceDoor; readonly prompts: PromptDoor } {
    const options = { ...parts, view: this, links: this.#links };
    return { resources: new HubResources(options), prompts: new HubPrompts(options) };
  }

  servers({ id }: Principal): readonly McpServerInfo[] {
    if (id !== LOCAL.id) return [];
    const unusable = this.#unusable.map(({ name, problem: { code, message } }): McpServerInfo => {
      return { name, state: "failed", tools: [], instances: 0, error: { code, message } };
    });
    return [...[...this.#upstreams.values()].map((upstream) => upstream.info()), ...unusable];
  }

  /** The last lines of its stderr. Throws `MCP_SERVER_NOT_FOUND`. */
  logs(principal: Principal, name: string): readonly string[] {
    return this.#find(principal, name)?.logs() ?? [];
  }

  /** Ends it, and starts it anew. Rejects with `MCP_SERVER_NOT_FOUND`, and with `CONFIG_INVALID` for an entry that cannot be used. */
  async restart(principal: Principal, name: string): Promise<void> {
    const upstream = this.#find(principal, name);
    if (upstream) return upstream.restart();
    throw this.#unusable.find((one) => one.name === name)?.problem ?? notFound(name);
  }

  /**
   * Installs the newest version of the package that it runs, and starts it anew if that is another one. Rejects as `restart`, as the install
   * does, and with `NOT_SUPPORTED` for one that is no package.
   */
  async update(principal: Principal, name: string, signal: AbortSignal): Promise<UpdatedProgram> {
    const upstream = this.#find(principal, name);
    if (upstream) return upstream.update(signal);
    throw this.#unusable.find((one) => one.name === name)?.problem ?? notFound(name);
  }

  /** Calls back after a server's state has changed, until the returned function is called. */
  onState(watcher: () => void): () => void {
    const entry = (): void => watcher();
    this.#watchers.add(entry);
    return () => this.#watchers.delete(entry);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = await Promise.allSettled([...this.#upstreams.values()].map((upstream) => upstream[Symbol.asyncDispose]()));
    await this.#programs?.[Symbol.asyncDispose]();
    const failed = ended.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  }

  #tellOnce(problem: string): void {
    if (this.#told.has(problem) || this.#told.size >= TOLD_MAX) return;
    this.#told.add(problem);
    this.#report(problem);
  }

  /** Undefined for an entry that cannot be used. Throws `MCP_SERVER_NOT_FOUND`. */
  #find({ id }: Principal, name: string): Upstream | undefined {
    const isKnown = id === LOCAL.id && (this.#upstreams.has(name) || this.#unusable.some((one) => one.name === name));
    if (!isKnown) throw notFound(name);
    return this.#upstreams.get(name);
  }

  #changed(list: ListName): void {
    if (list === "tools") this.#collect();
    else for (const listener of this.#lists[list]) listener(LOCAL.id);
  }

  /** Of two tools of one name, as there may be where names have no prefix, the first server's stays. */
  #collect(): void {
    const tools = new Map<string, Tool>();
    for (const [server, upstream] of this.#upstreams)
      for (const tool of upstream.tools) {
        if (!tools.has(tool.name)) tools.set(tool.name, tool);
        else this.#tellOnce(`The tool "${tool.name}" of the server "${server}" is left out: another server has one of that name`);
      }
    this.#tools = tools;
    for (const listener of this.#listeners) listener(LOCAL.id);
  }
}

function notFound(name: string): BelljarError {
  return new BelljarError(
    "MCP_SERVER_NOT_FOUND",
    `There is no MCP server ${JSON.stringify(name.slice(0, 100))}; list them to see which there are`,
  );
}
