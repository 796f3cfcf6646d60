import type { Catalog } from "../../catalog/catalog.ts";
import { markOutside } from "../../catalog/outside-text.ts";
import type { ResourceContent } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { hasToolset } from "../../sandbox/grants.ts";
import { reachOf } from "../../sandbox/reach.ts";
import type { Principal, SandboxEvent, Sandboxes, TemplateInfo } from "../../sandbox/sandbox.ts";
import type { TemplateDetail } from "../../template/wire/template-schema.ts";
import type { Asker, Completion } from "../server/asker.ts";
import type {
  Concerns,
  ResourceDescription,
  ResourceDoor,
  ResourceResult,
  ResourceTemplate,
  WantedValue,
} from "../server/resource-door.ts";
import { parseUri, TEMPLATES } from "./belljar-uri.ts";
import type { BelljarUri } from "./belljar-uri.ts";
import { completePath } from "./complete-path.ts";
import { listLive, showSandboxes } from "./list-live.ts";
import { readFileResource } from "./read-file-resource.ts";
import { toDetail, toTemplateDetail } from "./details.ts";
import { SandboxFollower } from "./sandbox-follower.ts";

export interface BelljarResourcesOptions {
  readonly sandboxes: Sandboxes;
  readonly catalog: Pick<Catalog, "results" | "sandboxLog">;
  /** What the principal's sandboxes can start from. */
  readonly templates: (principal: Principal) => Promise<readonly TemplateInfo[]>;
  /** Those of them that are made of layers of this home, with all that is known of them. */
  readonly madeTemplates: (principal: Principal) => Promise<readonly TemplateDetail[]>;
}

const PAGE = 100;
/** The events of a principal are followed as long as this process lives. */
const WATCHED: Disposable = { [Symbol.dispose]: () => undefined };
const JSON_TYPE = "application/json";
const SANDBOXES = "belljar://sandboxes/";
const TEMPLATE_LIST = "belljar://templates/";

/** Whose tools tell the same. Results come with every toolset, as what their tools answered. */
const TOOLSETS = {
  sandboxes: "sandbox",
  sandbox: "sandbox",
  templates: "sandbox",
  template: "sandbox",
  file: "files",
  result: undefined,
} as const satisfies Record<BelljarUri["kind"], string | undefined>;

/** The events that change the list. A changed state is not one: the list stays the same. */
const CHANGES_LIST = { resync: true, created: true, changed: false, ended: true } as const satisfies Record<SandboxEvent["type"], boolean>;

const ROOTS: readonly ResourceDescription[] = [
  { uri: SANDBOXES, name: "sandboxes", title: "Your sandboxes", mimeType: JSON_TYPE },
  { uri: TEMPLATE_LIST, name: "templates", title: "What sandboxes can start from", mimeType: JSON_TYPE },
];

const RESOURCE_TEMPLATES: readonly ResourceTemplate[] = [
  {
    uriTemplate: TEMPLATES.sandbox,
    name: "sandbox",
    title: "A sandbox",
    description: "Its state, limits and labels, and its log: the last 200 calls in it",
    mimeType: JSON_TYPE,
  },
  { uriTemplate: TEMPLATES.file, name: "file", title: "A file of a sandbox", description: "offset and limit, in bytes, read a part of it" },
  { uriTemplate: TEMPLATES.template, name: "template", title: "A template", description: "What it is made of", mimeType: JSON_TYPE },
  {
    uriTemplate: TEMPLATES.result,
    name: "result",
    title: "The rest of a cut result",
    description: "offset and limit, in bytes, read a part of it",
    mimeType: "text/plain",
  },
];

/** The resources of Belljar: sandboxes with their files, templates, and what was cut of results. Each owner sees its own alone. */
export function createBelljarResources(options: BelljarResourcesOptions): ResourceDoor {
  return new BelljarResources(options);
}

class BelljarResources implements ResourceDoor {
  readonly #options: BelljarResourcesOptions;
  readonly #follower: SandboxFollower;

  constructor(options: BelljarResourcesOptions) {
    this.#options = options;
    this.#follower = new SandboxFollower(options.sandboxes);
  }

  async list(principal: Principal, cursor = "0") {
    const start = /^[0-9]{1,9}$/.test(cursor) ? Number(cursor) : Number.NaN;
    const isShown = hasToolset(principal, TOOLSETS.sandboxes);
    if (isShown) await this.#follower.follow(principal);
    const sandboxes = isShown ? [...ROOTS, ...(await this.#listSandboxes(principal))] : [];
    const all = [...sandboxes, ...this.#listResults(principal)];
    if (!(start === 0 || start < all.length))
      throw new BelljarError("ARGUMENTS_INVALID", "The cursor is unknown: list again from the start");
    const end = start + PAGE;
    return { resources: all.slice(start, end), ...(end < all.length && { nextCursor: String(end) }) };
  }

  templates(): readonly ResourceTemplate[] {
    return RESOURCE_TEMPLATES;
  }

  async read({ principal, signal }: Asker, uri: string): Promise<ResourceResult> {
    const named = parseGranted(principal, uri);
    try {
      if (named.kind === "result") return { contents: this.#result(principal, { ...named, uri }) };
      if (named.kind === "sandboxes") return { contents: await this.#sandboxes(principal, uri) };
      return { contents: [await this.#content(principal, { ...named, uri }, signal)] };
    } catch (error) {
      throw asMissing(error);
    }
  }

  async complete({ principal }: Asker, uriTemplate: string, argument: WantedValue): Promise<Completion> {
    const values = await this.#candidates(principal, uriTemplate, argument);
    return { values: values.filter((value) => value.startsWith(argument.value)).toSorted() };
  }

  async watch({ principal }: Asker, uri: string): Promise<Disposable> {
    const named = parseGranted(principal, uri);
    const followed = named.kind === "sandboxes" || named.kind === "sandbox" ? this.#follower.follow(principal) : undefined;
    try {
      if (named.kind === "sandbox" || named.kind === "file") await this.#options.sandboxes.get(principal, named.id);
      await followed;
      return WATCHED;
    } catch (error) {
      throw asMissing(error);
    }
  }

  onUpdate(listener: (concerns: Concerns, uri: string) => void): () => void {
    return this.#follower.onEvent((reach, event) => {
      const concerns = concernsOf(reach);
      listener(concerns, SANDBOXES);
      const changed = event.type === "resync" ? event.sandboxes : [event.sandbox];
      for (const id of changed) listener(concerns, `${SANDBOXES}${id}`);
    });
  }

  onListChange(listener: (concerns: Concerns) => void): () => void {
    return this.#follower.onEvent((reach, { type }) => {
      if (CHANGES_LIST[type]) listener(concernsOf(reach));
    });
  }

  /** What is left of it, if there is more than one read answers, is named by a content of its own. */
  #result(principal: Principal, { id, uri, ...range }: Of<"result"> & { readonly uri: string }): readonly ResourceContent[] {
    const { text, offset, bytes, total, isOutside } = this.#options.catalog.results.read(principal, id, range);
    const whole = { uri, mimeType: "text/plain", text: isOutside ? markOutside(text) : text };
    const next = offset + bytes;
    if (range.limit !== undefined || next === total) return [whole];
    const rest = { uri: `belljar://results/${id}?offset=${next}`, mimeType: "text/plain" };
    return [whole, { ...rest, text: `[${next} of ${total} bytes so far; read on at ${rest.uri}]` }];
  }

  /** If there are more than one answer may hold, a content of its own says so. */
  async #sandboxes(principal: Principal, uri: string): Promise<readonly ResourceContent[]> {
    const { text, count, areAll } = await showSandboxes(this.#options.sandboxes, principal);
    const shown = { uri, mimeType: JSON_TYPE, text };
    const note = `[The newest ${count} are shown; sandbox_list shows all, page by page]`;
    return areAll ? [shown] : [shown, { uri, mimeType: "text/plain", text: note }];
  }

  async #content(principal: Principal, named: Named, signal: AbortSignal): Promise<ResourceContent> {
    const { sandboxes } = this.#options;
    switch (named.kind) {
      case "sandbox":
        return toJson(named.uri, await this.#detail(principal, named.id));
      case "file":
        return readFileResource(await sandboxes.get(principal, named.id), named, signal);
      case "templates":
        return toJson(named.uri, await this.#options.templates(principal));
      case "template":
        return toJson(named.uri, await this.#template(principal, named.name));
    }
  }

  async #detail(principal: Principal, id: string) {
    const { sandboxes, catalog } = this.#options;
    const info = await sandboxes.info(principal, id);
    return { ...toDetail(info), log: catalog.sandboxLog.lines(info.id) };
  }

  async #template(principal: Principal, name: string): Promise<object> {
    const { templates, madeTemplates } = this.#options;
    const isNamed = (one: { readonly name: string }): boolean => one.name === name;
    const found = (await templates(principal)).find(isNamed);
    const made = found && (await madeTemplates(principal)).find(isNamed);
    if (found) return made ? toTemplateDetail(made) : found;
    throw new BelljarError("RESOURCE_NOT_FOUND", `No template ${JSON.stringify(name.slice(0, 100))}; ${TEMPLATE_LIST} lists them`);
  }

  async #listSandboxes(principal: Principal): Promise<readonly ResourceDescription[]> {
    return listLive(this.#options.sandboxes, principal, ({ id, shortId, state, defaultName }) => ({
      uri: `${SANDBOXES}${id}`,
      name: defaultName === undefined ? `sandbox ${shortId}` : `sandbox ${shortId} (${defaultName})`,
      description: state,
      mimeType: JSON_TYPE,
    }));
  }

  #listResults(principal: Principal): readonly ResourceDescription[] {
    return this.#options.catalog.results.list(principal).map(({ id, uri, bytes }) => ({
      uri,
      name: `result ${id.slice(0, 8)}`,
      description: `${bytes} bytes of a result that was cut`,
      mimeType: "text/plain",
    }));
  }

  async #candidates(principal: Principal, uriTemplate: string, { name, value, given = {} }: WantedValue): Promise<readonly string[]> {
    const { sandboxes, catalog, templates } = this.#options;
    const kind = KINDS.find((one) => TEMPLATES[one] === uriTemplate);
    if (kind === undefined || !isGranted(principal, kind)) return [];
    if (uriTemplate === TEMPLATES.template) return (await templates(principal)).map((template) => template.name);
    if (uriTemplate === TEMPLATES.result && name === "id") return catalog.results.list(principal).map(({ id }) => id);
    if (uriTemplate === TEMPLATES.file && name === "path") return completePath(sandboxes, principal, { id: given["id"], start: value });
    const isSandbox = (uriTemplate === TEMPLATES.sandbox || uriTemplate === TEMPLATES.file) && name === "id";
    return isSandbox ? listLive(sandboxes, principal, ({ id }) => id) : [];
  }
}

const KINDS = ["sandbox", "file", "template", "result"] as const satisfies readonly (keyof typeof TEMPLATES)[];

function isGranted(principal: Principal, kind: BelljarUri["kind"]): boolean {
  const toolset = TOOLSETS[kind];
  return toolset === undefined || hasToolset(principal, toolset);
}

function parseGranted(principal: Principal, uri: string): BelljarUri {
  const named = parseUri(uri);
  if (isGranted(principal, named.kind)) return named;
  throw new BelljarError(
    "FORBIDDEN",
    `${uri.slice(0, 100)} needs the scope toolset:${TOOLSETS[named.kind]}, and this token does not have it: use a token with that scope`,
  );
}

/** Other tokens of the owner may be narrower than the one that made the change. */
function concernsOf(reach: string): Concerns {
  return (principal) => reachOf(principal) === reach && isGranted(principal, "sandboxes");
}

type Of<Kind> = Extract<BelljarUri, { readonly kind: Kind }>;
type Named = Exclude<BelljarUri, Of<"result" | "sandboxes">> & { readonly uri: string };

function toJson(uri: string, value: unknown): ResourceContent {
  return { uri, mimeType: JSON_TYPE, text: JSON.stringify(value, null, 2) };
}

/** What an address names may be missing in more ways than one. */
function asMissing(error: unknown): unknown {
  const isMissing = error instanceof BelljarError && ["SANDBOX_NOT_FOUND", "SANDBOX_ENDED", "FILE_NOT_FOUND"].includes(error.code);
  return isMissing ? new BelljarError("RESOURCE_NOT_FOUND", error.message, { cause: error }) : error;
}
