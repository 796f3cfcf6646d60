import { createHash } from "node:crypto";
import type { JsonSchemas } from "../../catalog/json-schemas.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { Listing } from "../../catalog/unlisted.ts";
import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { isRecord } from "../client/config/is-record.ts";
import type { JsonObject } from "../client/json-object.ts";
import type { ListName } from "../client/server-handlers.ts";
import { LastLines } from "../client/transport/last-lines.ts";
import { shapeOf } from "./describe-server.ts";
import { hubNames } from "./hub-names.ts";
import type { HubServer, McpServerInfo } from "./hub-server.ts";
import { Instances } from "./instances.ts";
import { besideOf, type Definition, definitionSchema, proxiedTool, type ProxiedToolOptions } from "./proxied-tool.ts";
import { updateServer } from "./prepare/open-server-sandbox.ts";
import type { UpdatedProgram } from "./prepare/package-programs.ts";
import type { HubLinks, LinkOwner } from "./relay/hub-links.ts";
import { keyOf, type RelayContext } from "./relay/relay-context.ts";
import { ServerCalls } from "./relay/server-calls.ts";
import { ServerFollows } from "./relay/server-follows.ts";
import { type Listed, ServerLists } from "./relay/server-lists.ts";
import { type HubLogins, isLoginOver, UpstreamLogin } from "./relay/upstream-login.ts";
import { type InstanceParts, openInstance, type ServerInstance } from "./server-instance.ts";
import type { Lists, ShownLists } from "./sources/pinned-lists.ts";
import { blockedItem, type ServerPin } from "./sources/server-pin.ts";

const INSTANCES_MAX = 32;
/** So many problems of its tools are told of one by one. */
const TOLD_MAX = 10;
/** What is kept of what a server writes to stderr. */
const LOG = { bytes: 64 * 1_024, lines: 1_000 };
const NOTHING: Listed = { capabilities: {}, tools: [], resources: [], templates: [], prompts: [] };
const MISSED_MAX = 20;
/** Whose definition each request uses, and by which parameter. */
const USES = {
  "tools/call": ["tools", "name"],
  "prompts/get": ["prompts", "name"],
  "resources/read": ["resources", "uri"],
} as const satisfies Readonly<Record<string, readonly [keyof Listed, string]>>;

export interface UpstreamParts extends InstanceParts {
  readonly schemas: () => Promise<JsonSchemas>;
  readonly idleMs: number;
  /** How many calls a server answers at once, and how many may wait. */
  readonly concurrency: number;
  readonly queue: number;
  /** Of the names that callers see. */
  readonly prefix: string;
  /** How callers write the URIs of a server. */
  readonly links: HubLinks;
  readonly report: (problem: string) => void;
  /** Called after a list has changed. */
  readonly changed: (list: ListName) => void;
  readonly stateChanged: () => void;
  /** The id of whoever owns it. */
  readonly owner: string;
  /** Whose sandboxes its instances run in. Asked at each start, as its rights change. */
  readonly principal: () => Promise<Principal>;
  /** Rejects with `FORBIDDEN` for a caller who may not use it. */
  readonly authorise: (principal: Principal) => Promise<void>;
  readonly pin: ServerPin;
  /** Absent: nobody logs in to servers over HTTP. */
  readonly logins?: HubLogins;
}

/** A prompt of a server, under the name that callers see. */
export interface NamedPrompt {
  readonly name: string;
  readonly definition: JsonObject;
}

/**
 * One server of the hub. It has what it listed last; nobody waits for it to list that. It has an instance for each caller and client, which
 * starts with the first call and ends when it is idle. Disposing it ends them.
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
  readonly #said = new LastLines(LOG);
  /** Problems of its tools that were told. */
  readonly #told = new Set<string>();
  /** Rules that would have allowed what its network refused. */
  readonly #missed = new Set<string>();
  #tools: readonly Tool[] = [];
  #prompts: readonly NamedPrompt[] = [];
  #listed = NOTHING;
  #digests: Readonly<Record<string, string>>;
  #links: LinkOwner;
  /** As it said last; undefined as long as it has said nothing to this process. */
  #capabilities: JsonObject | undefined;
  #shown: ShownLists | undefined;
  #showing: Promise<void> = Promise.resolve();

  constructor(server: HubServer, label: string, parts: UpstreamParts) {
    this.#server = server;
    this.#label = label;
    this.#parts = parts;
    this.#digests = digestsOf(NOTHING, label);
    this.#links = linksOf(label, server.name, NOTHING);
    const open = (signal: AbortSignal) => this.#open(signal);
    const { idleMs, stateChanged, report } = parts;
    const loggedIn = (): void => this.#lists.loggedIn();
    this.#login = UpstreamLogin.of(server, parts.logins?.(parts.owner, server), { loggedIn, report });
    this.#instances = new Instances({ open, idleMs, most: INSTANCES_MAX, changed: stateChanged });
    this.#follows = new ServerFollows(this.#instances);
    this.#calls = new ServerCalls({ ...parts, server, instances: this.#instances });
    this.restored = this.refresh().catch((cause: unknown) => report(String(cause)));
    const take = (listed: Listed): Promise<void> => this.#take(listed);
    this.#lists = new ServerLists({ name: server.name, instances: this.#instances, take, report, stateChanged });
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
    const [list, key] = Object.hasOwn(USES, method) ? USES[method as keyof typeof USES] : [];
    const used = key && String(params[key]);
    if (list && used !== undefined && this.#shown?.blocked.has(`${list}/${used}`)) throw blockedItem(this.name, list, used);
    await this.#parts.authorise(context.principal);
    try {
      return await this.#calls.request(context, method, params);
    } catch (cause) {
      if (isLoginOver(cause)) this.#lists.changedAt(undefined);
      throw cause;
    }
  }

  /** Calls `updated` after a resource has changed, as the caller's instance sees it, until what it gives is disposed. Rejects as `request`. */
  async follow(context: RelayContext, uri: string, updated: () => void): Promise<Disposable> {
    await this.#parts.authorise(context.principal);
    return this.#follows.follow({ key: keyOf(context), uri, updated }, context.signal);
  }

  /** Ends its instances, and lists what it has anew. Resolves once that has succeeded or failed. */
  async restart(): Promise<void> {
    await this.#instances.endAll();
    this.#told.clear();
    this.#login?.login.reread();
    await this.#lists.restart();
  }

  /** Rejects with `NOT_SUPPORTED` for a server that is no package, and as the install does. */
  async update(signal: AbortSignal): Promise<UpdatedProgram> {
    const updated = await updateServer(this.#parts, this.#server, { principal: await this.#parts.principal(), signal });
    if (updated.before !== updated.now) await this.restart();
    return updated;
  }

  async [Symbol.asyncDispose](): Promise<void> {
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
    const start = { principal, login: this.#login?.login, signal, events, said, missed };
    instance = await openInstance(this.#parts, this.#server, start);
    return instance;
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
    const [before, now] = [this.#digests, digestsOf(listed, this.#label)];
    const isOther = (...lists: readonly (keyof Listed | "label")[]): boolean => lists.some((list) => now[list] !== before[list]);
    if (isOther("tools", "label")) this.#tools = await this.#toTools(listed.tools);
    this.#prompts = this.#toPrompts(listed.prompts);
    this.#links = linksOf(this.#label, this.name, listed);
    this.#listed = listed;
    this.#digests = now;
    const { changed } = this.#parts;
    if (isOther("resources", "templates", "capabilities", "label")) changed("resources");
    if (isOther("prompts", "label")) changed("prompts");
    // Tools name resources, which now may be those of several servers.
    if (isOther("tools", "resources", "label")) changed("tools");
  }

  async #toTools(items: readonly JsonObject[]): Promise<readonly Tool[]> {
    const { select, rename } = this.#server.settings;
    const listed = items.flatMap((item) => this.#define(item));
    const known = new Set(listed.map(({ name }) => name));
    const absent = [...(select ?? []), ...Object.keys(rename)].filter((name) => !known.has(name));
    for (const name of absent) this.#tell(name, `has no tool ${JSON.stringify(name)}, which its entry names`);
    const found = select ? listed.filter(({ name }) => select.has(name)) : listed;
    const shown = found.map(({ name }) => (Object.hasOwn(rename, name) ? (rename[name] ?? name) : name));
    const names = hubNames(this.#parts.prefix, this.label, shown);
    const schemas = await this.#parts.schemas();
    return found.flatMap((definition, index) => {
      try {
        return [this.#toTool(definition, { name: names[index] ?? definition.name, shown: shown[index] ?? definition.name }, schemas)];
      } catch (cause) {
        if (!(cause instanceof BelljarError)) throw cause;
        this.#leaveOut(definition.name, cause.message);
        return [];
      }
    });
  }

  /** Tasks are not relayed: a tool that cannot be called without one is left out. */
  #define(item: JsonObject): readonly (Definition & { readonly beside: JsonObject | undefined })[] {
    const { data } = definitionSchema.safeParse(item);
    if (!data) return [];
    const { execution } = item;
    const needsTask = isRecord(execution) && execution["taskSupport"] === "required";
    if (needsTask) this.#leaveOut(data.name, "it can be called as a task alone, which the hub does not relay");
    return needsTask ? [] : [{ ...data, beside: besideOf(item) }];
  }

  #toTool(
    { beside, ...definition }: Definition & { readonly beside: JsonObject | undefined },
    as: Pick<ProxiedToolOptions, "name" | "shown">,
    schemas: JsonSchemas,
  ): Tool {
    const { name: tool } = definition;
    return proxiedTool({
      ...as,
      server: this.name,
      approve: this.#server.settings.approve,
      definition,
      beside,
      schemas,
      relink:
        ({ principal } = { principal: { id: this.#parts.owner, name: this.#parts.owner } }) =>
        (uri) =>
          this.#parts.links.out(principal, this.label, uri),
      call: (context, args) => this.request(context, "tools/call", { name: tool, arguments: args }),
    });
  }

  #toPrompts(listed: readonly JsonObject[]): readonly NamedPrompt[] {
    const names = hubNames(
      this.#parts.prefix,
      this.label,
      listed.map(({ name }) => String(name)),
    );
    return listed.map((definition, index) => ({ name: names[index] ?? String(definition["name"]), definition }));
  }

  #leaveOut(tool: string, why: string): void {
    this.#tell(tool, `has a tool ${JSON.stringify(tool.slice(0, 100))} that is left out: ${why}`);
  }

  /** Once for each tool, and of the first ones alone: a server may have any number, and list them again and again. */
  #tell(tool: string, problem: string): void {
    if (this.#told.has(tool) || this.#told.size > TOLD_MAX) return;
    this.#told.add(tool);
    this.#parts.report(`The server "${this.name}" ${this.#told.size > TOLD_MAX ? "has more such tools" : problem}`);
  }
}

function linksOf(label: string, name: string, { resources, templates }: Listed): LinkOwner {
  const uris = new Set(resources.map(({ uri }) => String(uri)));
  return { label, name, uris, templates: new Set(templates.map(({ uriTemplate }) => String(uriTemplate))) };
}

function digestsOf(listed: Listed, label: string): Readonly<Record<string, string>> {
  const digest = (list: unknown): string => createHash("sha256").update(JSON.stringify(list)).digest("base64");
  return Object.fromEntries(Object.entries({ ...listed, label }).map(([name, list]) => [name, digest(list)]));
}

/** A server that has said nothing yet to this process can do what it listed before. */
function listedOf(lists: Lists, said: JsonObject | undefined): Listed {
  const of = (list: string): readonly JsonObject[] => (Array.isArray(lists[list]) ? lists[list].filter(isRecord) : []);
  const [tools, resources, templates, prompts] = ["tools", "resources", "templates", "prompts"].map(of) as [Items, Items, Items, Items];
  const known = { ...(resources.length + templates.length > 0 && { resources: {} }), ...(prompts.length > 0 && { prompts: {} }) };
  return { capabilities: said ?? known, tools, resources, templates, prompts };
}

type Items = readonly JsonObject[];
