import type { ResourceContent } from "../../../catalog/tool.ts";
import { isNestedTooDeep } from "../../../catalog/nesting.ts";
import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { JsonObject } from "../../client/json-object.ts";
import type { Asker, Completion } from "../../server/asker.ts";
import type {
  Concerns,
  ResourceDescription,
  ResourceDoor,
  ResourceResult,
  ResourceTemplate,
  WantedValue,
} from "../../server/resource-door.ts";
import { counted, type CountedParts } from "../../../catalog/counted.ts";
import { firstBlocks } from "./first-blocks.ts";
import { mayRelay } from "./may-relay.ts";
import type { Found, HubLinks } from "./hub-links.ts";
import type { HubView } from "./hub-view.ts";
import { type Relink, relinkMeta, relinkUri } from "./relink.ts";
import { toCompletion } from "./to-completion.ts";
import { withoutServer } from "./to-result.ts";
import type { Upstream } from "../upstream.ts";

const PAGE = 1_000;

export interface HubResourcesOptions extends CountedParts {
  readonly view: HubView;
  readonly links: HubLinks;
}

/** The resources of the hub's servers, as `HubLinks` writes their URIs. Each caller reads them by an instance of its own. */
export class HubResources implements ResourceDoor {
  readonly #options: HubResourcesOptions;
  readonly #listeners = new Set<(concerns: Concerns, uri: string) => void>();

  constructor(options: HubResourcesOptions) {
    this.#options = options;
  }

  async list(principal: Principal, cursor = "0") {
    const start = /^[0-9]{1,9}$/.test(cursor) ? Number(cursor) : Number.NaN;
    const all = this.#seen(principal).flatMap((upstream) => upstream.listed.resources.map((item) => [upstream, item] as const));
    if (!(start === 0 || start < all.length))
      throw new BelljarError("ARGUMENTS_INVALID", "The cursor is unknown: list again from the start");
    const end = start + PAGE;
    const relinkOf = this.#relinks(principal);
    const resources = all.slice(start, end).map(([{ label }, item]) => {
      const relink = relinkOf(label);
      return relinkUri(relinkMeta(item, relink), relink) as ResourceDescription;
    });
    return { resources, ...(end < all.length && { nextCursor: String(end) }) };
  }

  templates(principal: Principal): readonly ResourceTemplate[] {
    return this.#seen(principal).flatMap(({ label, listed }) => {
      const relink = this.#options.links.relinkTemplates(principal, label);
      return listed.templates.map((item) => ({ ...item, uriTemplate: relink(String(item["uriTemplate"])) }) as ResourceTemplate);
    });
  }

  /** Rejects with `RESOURCE_AMBIGUOUS` for what several servers have. */
  async read(asker: Asker, uri: string): Promise<ResourceResult> {
    const asked = { principal: asker.principal, method: "resources/read", args: { uri } };
    return counted(this.#options, asked, async () => {
      const { upstream, found } = this.#find(asker.principal, uri);
      const answer = await upstream.request(asker, "resources/read", { uri: found.uri });
      return this.#toResult(asker.principal, { asked: uri, found, answer, server: upstream.name });
    });
  }

  async complete(asker: Asker, uriTemplate: string, { given = {}, ...argument }: WantedValue): Promise<Completion> {
    const { principal } = asker;
    const found = this.#options.links.findTemplate(principal, uriTemplate);
    const upstream = found && this.#seen(principal).find(({ label }) => label === found.label);
    if (!found || upstream?.listed.capabilities["completions"] === undefined) return { values: [] };
    const params = { ref: { type: "ref/resource", uri: found.uri }, argument, context: { arguments: given } };
    const asked = { principal, method: "completion/complete", args: params };
    return counted(this.#options, asked, async () => toCompletion(await upstream.request(asker, "completion/complete", params)));
  }

  /** Resolves without following a resource of a server that says it tells of none. */
  async watch(asker: Asker, uri: string): Promise<Disposable> {
    const { principal } = asker;
    const concerns: Concerns = (one) => one.id === principal.id && mayRelay(one);
    const updated = (): void => this.#listeners.forEach((listener) => listener(concerns, uri));
    const asked = { principal, method: "resources/subscribe", args: { uri } };
    return counted(this.#options, asked, () => {
      const { upstream, found } = this.#find(principal, uri);
      return upstream.follow(asker, found.uri, updated);
    });
  }

  onUpdate(listener: (concerns: Concerns, uri: string) => void): () => void {
    const entry: typeof listener = (concerns, uri) => listener(concerns, uri);
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  onListChange(listener: (concerns: Concerns) => void): () => void {
    return this.#options.view.onList("resources", (ownerId) =>
      listener((principal) => (ownerId === undefined || ownerId === principal.id) && mayRelay(principal)),
    );
  }

  /** Of one page, by the label of a server. */
  #relinks(principal: Principal): (label: string) => Relink {
    const relinks = new Map<string, Relink>();
    return (label) => {
      const relink = relinks.get(label) ?? this.#options.links.relink(principal, label);
      relinks.set(label, relink);
      return relink;
    };
  }

  #seen(principal: Principal): readonly Upstream[] {
    return mayRelay(principal) ? this.#options.view.upstreamsOf(principal) : [];
  }

  /** Rejects with `RESOURCE_NOT_FOUND` and `RESOURCE_AMBIGUOUS`. */
  #find(principal: Principal, uri: string): { readonly upstream: Upstream; readonly found: Found } {
    const found = mayRelay(principal) ? this.#options.links.find(principal, uri) : undefined;
    const upstream = found && this.#seen(principal).find(({ label }) => label === found.label);
    if (found && upstream) return { upstream, found };
    throw new BelljarError("RESOURCE_NOT_FOUND", `No resource ${JSON.stringify(uri.slice(0, 200))}; list them to see which there are`);
  }

  #toResult(principal: Principal, { asked, found, answer, server }: Read): ResourceResult {
    if (isNestedTooDeep(answer))
      throw new BelljarError("SERVER_INCOMPATIBLE", `The server "${server}" answered with something that is nested too deep`);
    const { contents, resultType: _, ttlMs: _ttl, cacheScope: _scope, ...beside } = answer;
    // What was asked for keeps the name under which it was asked for.
    const relinkOther = this.#options.links.relink(principal, found.label);
    const relink = (uri: string): string => (uri === found.uri ? asked : relinkOther(uri));
    const list = firstBlocks(contents, (text) => ({ uri: found.uri, text }));
    return { ...withoutServer(beside), contents: list.map((one) => relinkUri(one, relink) as ResourceContent) };
  }
}

interface Read {
  /** By the caller. */
  readonly asked: string;
  readonly found: Found;
  readonly answer: JsonObject;
  readonly server: string;
}
