import type { Tool } from "../../catalog/tool.ts";
import type { Listing } from "../../catalog/unlisted.ts";
import { BelljarError } from "../../errors.ts";
import type { EgressRequests } from "../../network/egress/egress-requests.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { JsonObject } from "../client/json-object.ts";
import type { HttpWay } from "../client/transport/http-way.ts";
import { LastLines } from "../client/transport/last-lines.ts";
import { shapeOf } from "./describe-server.ts";
import type { HubServer, McpServerInfo, ServerUpdate } from "./hub-server.ts";
import { Instances } from "./instances.ts";
import type { LinkOwner } from "./relay/hub-links.ts";
import { type KeyOf, keyOf, type RelayContext, SHARED } from "./relay/relay-context.ts";
import { type Asked, ServerCalls } from "./relay/server-calls.ts";
import { type Follower, ServerFollows } from "./relay/server-follows.ts";
import { ListShare } from "./relay/list-budget.ts";
import type { Listed } from "./relay/list-server.ts";
import { LISTS, ServerLists } from "./relay/server-lists.ts";
import { definitionOf, digestsOf, linksOf, listedOf, NOTHING, type UsedDefinition } from "./relay/listed.ts";
import { type NamedPrompt, ServerDefinitions } from "./server-definitions.ts";
import type { BegunLogin } from "./relay/held-login.ts";
import { isLoginOver, type LoginWish, UpstreamLogin } from "./relay/upstream-login.ts";
import { openInstance, type ServerInstance } from "./server-instance.ts";
import type { ShownLists } from "./sources/pinned-lists.ts";
import { openServerWay } from "./server-way.ts";
import { blockedItem } from "./sources/server-pin.ts";
import { ServerUpdates, type UpdateWish } from "./server-updates.ts";
import type { UpstreamParts } from "./upstream-parts.ts";

const INSTANCES_MAX = 32;
/** What is kept of what a server writes to stderr. */
const LOG = { bytes: 64 * 1_024, lines: 1_000 };
const MISSED_MAX = 20;
/** A server may close a connection that nobody uses at the moment when it is used again. Most keep them for five seconds. */
const KEEP_MS = 4_000;

/**
 * One server of the hub. It has what it listed last; nobody waits for it to list that. It has an instance for each caller and client, or one for all,
 * which starts with the first call and ends when it is idle. Disposing it ends them.
 */
export class Upstream implements AsyncDisposable {
  readonly #server: HubServer;
  /** What stands for it in names. */
  #label: string;
  readonly #parts: UpstreamParts;
  readonly #instances: Instances<ServerInstance>;
  readonly #lists: ServerLists;
  readonly #calls: ServerCalls;
  readonly #follows: ServerFollows;
  readonly #login: UpstreamLogin | undefined;
  readonly #updates: ServerUpdates;
  readonly #said = new LastLines(LOG);
  readonly #definitions: ServerDefinitions;
  /** Rules that would have allowed what its network refused. */
  readonly #missed = new Set<string>();
  #tools: readonly Tool[] = [];
  #prompts: readonly NamedPrompt[] = [];
  #listed = NOTHING;
  /** Of what is shown; without any as long as nothing is. */
  #digests: Readonly<Record<string, string>> = {};
  #links: LinkOwner;
  /** As it said last; undefined as long as it has said nothing to this process. */
  #capabilities: JsonObject | undefined;
  #shown: ShownLists | undefined;
  #showing: Promise<void> = Promise.resolve();

  constructor(server: HubServer, label: string, parts: UpstreamParts) {
    this.#server = server;
    this.#label = label;
    this.#parts = parts;
    this.#links = linksOf(label, server.name, NOTHING);
    const open = (signal: AbortSignal) => this.#open(signal);
    const { idleMs, stateChanged, report } = parts;
    const loggedIn = (): void => this.#lists.loggedIn();
    const way = async (): Promise<HttpWay | undefined> => this.#way(await parts.principal());
    const logins = parts.logins?.(parts.owner, server);
    this.#login = UpstreamLogin.of(server, logins && { ...logins, way }, { loggedIn, report });
    this.#instances = new Instances({ open, idleMs, most: INSTANCES_MAX, owner: parts.owner, changed: stateChanged });
    const call = (context: RelayContext, asked: Asked): Promise<JsonObject> => this.#request(context, asked);
    this.#definitions = new ServerDefinitions({ ...parts, server, call });
    const isShared = server.settings.session === "shared";
    const ownKey: KeyOf = isShared ? () => SHARED : keyOf;
    this.#follows = new ServerFollows(this.#instances, ownKey);
    this.#updates = new ServerUpdates(parts, server);
    this.#calls = new ServerCalls({ ...parts, server, instances: this.#instances, keyOf: ownKey });
    this.restored = this.refresh().catch((cause: unknown) => report(String(cause)));
    const take = (listed: Listed): Promise<void> => this.#take(listed);
    const key = isShared ? SHARED : LISTS;
    const { owner } = parts;
    const share = new ListShare(parts.budget, server.name);
    this.#lists = new ServerLists({ name: server.name, owner, share, instances: this.#instances, key, take, report, stateChanged });
  }

  /** Resolves once it has what is known of it from before this process. */
  readonly restored: Promise<void>;

  /** Begins to show what is approved and listed now, under the names of now. */
  refresh(label = this.#label): Promise<void> {
    this.#label = label;
    const turn = this.#showing.then(() => this.#show());
    this.#showing = turn.catch(() => undefined);
    return turn;
  }

  get name(): string {
    return this.#server.name;
  }

  get label(): string {
    return this.#label;
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  /** Its resources, templates and prompts, as it listed them. */
  get listed(): Listed {
    return this.#listed;
  }

  get prompts(): readonly NamedPrompt[] {
    return this.#prompts;
  }

  /** Undefined for a server without resources. */
  get links(): LinkOwner | undefined {
    return this.#listed.capabilities["resources"] === undefined ? undefined : this.#links;
  }

  /** Why it serves nothing before a person logs in. */
  get wantedLogin(): BelljarError | undefined {
    const { state, error } = this.#lists.state;
    return state === "needs_login" ? error : undefined;
  }

  get listing(): Listing {
    return this.#server.settings.list;
  }

  info(): McpServerInfo {
    const { state, error } = this.#lists.state;
    return {
      ...shapeOf(this.#server),
      state: state === "ready" && this.#instances.size === 0 ? "stopped" : state,
      tools: this.#tools.map((tool) => tool.name),
      instances: this.#instances.size,
      ...(this.#missed.size > 0 && { refused: [...this.#missed] }),
      ...(error && { error: { code: error.code, message: error.message } }),
    };
  }

  /** The last lines that its instances wrote to stderr. */
  logs(): readonly string[] {
    return this.#said.lines();
  }

  /**
   * Asks the instance of the caller's client, and gives the answer as it came. Rejects with `SERVER_BUSY`, with `TOOL_CHANGED` for what nobody has
   * approved, with `FORBIDDEN`, and as a session does.
   */
  async request(context: RelayContext, method: string, params: JsonObject): Promise<JsonObject> {
    return this.#request(context, { method, params });
  }

  async #request(context: RelayContext, asked: Asked): Promise<JsonObject> {
    this.#assertApproved(definitionOf(asked.method, asked.params));
    await this.#parts.authorise(context.principal);
    try {
      return await this.#calls.request(context, asked);
    } catch (cause) {
      if (isLoginOver(cause)) this.#lists.changedAt(undefined);
      throw cause;
    }
  }

  /** Calls `updated` after a resource has changed, as the caller's instance sees it, until what it gives is disposed. Rejects as `request`. */
  async follow(context: RelayContext, uri: string, updated: () => void): Promise<Disposable> {
    const { principal, clientId } = context;
    const follower = { context: { principal, ...(clientId !== undefined && { clientId }) }, uri, updated };
    await this.#assertMayFollow(follower);
    return this.#follows.follow(follower, context.signal);
  }

  /** Follows from now on for those who follow at the one that this replaces. */
  replace(before: Upstream): void {
    void this.#follows.takeOver(before.#follows, (follower) => this.#assertMayFollow(follower));
  }

  async #assertMayFollow({ context, uri }: Follower): Promise<void> {
    this.#assertApproved({ list: "resources", name: uri });
    await this.#parts.authorise(context.principal);
  }

  #assertApproved(used: UsedDefinition | undefined): void {
    if (used && this.#shown?.blocked.has(`${used.list}/${used.name}`)) throw blockedItem(this.name, used.list, used.name);
  }

  /** Ends its instances, and lists what it has anew. Resolves once that has succeeded or failed. */
  async restart(): Promise<void> {
    await this.#instances.endAll();
    this.#definitions.tellAgain();
    this.#login?.login.reread();
    await this.#lists.restart();
  }

  /** Its address came over HTTP. */
  get isOfNetwork(): boolean {
    return this.#server.isOfNetwork === true;
  }

  /** Rejects with `NOT_SUPPORTED` for a server that knows no logins, and as `UpstreamLogin.begin`. */
  async beginLogin(wish: LoginWish, signal: AbortSignal): Promise<BegunLogin> {
    return this.#knownLogin().begin(wish, signal);
  }

  /** Resolves once the login is kept, and the server has listed what it has with it, or has failed. Rejects as `UpstreamLogin.finish`. */
  async finishLogin(query: URLSearchParams): Promise<void> {
    await this.#knownLogin().finish(query);
    await this.#lists.againIfNeeded();
  }

  /**
   * Takes the newest version of its package, or that which was looked at, or only looks at it. Rejects with `NOT_SUPPORTED` for a server that is no
   * package, with `MCP_SERVER_CHANGED` for a digest that is of something else, and as the install does.
   */
  async update(wish: UpdateWish, signal: AbortSignal): Promise<ServerUpdate> {
    const who = { principal: await this.#parts.principal(), signal };
    if (wish.look) return this.#updates.look(who);
    const { updated, approves } = await this.#updates.take(wish.digest, who);
    if (updated.before !== updated.now || wish.digest !== undefined) await this.restart();
    // What it lists now is approved only if that is what was shown.
    if (approves !== undefined && this.#parts.pin.digest === approves) {
      await this.#parts.pin.approve(approves);
      await this.refresh();
    }
    return updated;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#follows[Symbol.dispose]();
    await Promise.all([this.#login, this.#lists, this.#instances].map(async (one) => one?.[Symbol.asyncDispose]()));
  }

  async #open(signal: AbortSignal): Promise<ServerInstance> {
    let instance: ServerInstance | undefined;
    const events = {
      listChanged: () => this.#lists.changedAt(instance),
      resourceUpdated: (uri: string) => this.#follows.tell(instance, uri),
    };
    const said = (chunk: Buffer): void => this.#said.add(chunk);
    const missed = (rules: readonly string[]): void => this.#miss(rules);
    const principal = await this.#parts.principal();
    const way = this.#way(principal, KEEP_MS);
    const start = { principal, login: this.#login?.login, way, signal, events, said, missed };
    instance = await openInstance(this.#parts, this.#server, start);
    return instance;
  }

  #way(principal: Principal, keepMs?: number): EgressRequests | undefined {
    const said = (line: string): void => this.#said.add(Buffer.from(`${line}\n`));
    const missed = (rules: readonly string[]): void => this.#miss(rules);
    const wish = { owner: this.#parts.owner, principal, said, missed, ...(keepMs !== undefined && { keepMs }) };
    return openServerWay(this.#parts.egress, this.#server, wish);
  }

  #knownLogin(): UpstreamLogin {
    if (this.#login) return this.#login;
    throw new BelljarError("NOT_SUPPORTED", `The MCP server "${this.name}" knows no logins: it is a program, or its headers say who calls`);
  }

  #miss(rules: readonly string[]): void {
    for (const rule of rules) if (this.#missed.size < MISSED_MAX) this.#missed.add(rule);
  }

  async #take({ capabilities, ...lists }: Listed): Promise<void> {
    this.#capabilities = capabilities;
    this.#shown = await this.#parts.pin.take(lists);
    await this.refresh();
  }

  /** What callers are shown of what it listed. Tells of a change only if there is one. */
  async #show(): Promise<void> {
    this.#shown = this.#parts.pin.shown() ?? this.#shown;
    if (!this.#shown) return;
    const listed = listedOf(this.#shown.lists, this.#capabilities);
    const [before, now] = [this.#digests, await digestsOf(listed, this.#label)];
    const isOther = (...lists: readonly (keyof Listed | "label")[]): boolean => lists.some((list) => now[list] !== before[list]);
    if (isOther("tools", "label")) this.#tools = await this.#definitions.tools(listed.tools, this.#label);
    this.#prompts = this.#definitions.prompts(listed.prompts, this.#label);
    this.#links = linksOf(this.#label, this.name, listed);
    this.#listed = listed;
    this.#digests = now;
    const { changed } = this.#parts;
    if (isOther("resources", "templates", "capabilities", "label")) changed("resources");
    if (isOther("prompts", "label")) changed("prompts");
    // Tools name resources, which now may be those of several servers.
    if (isOther("tools", "resources", "label")) changed("tools");
  }
}
