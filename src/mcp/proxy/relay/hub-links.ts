import { BelljarError } from "../../../errors.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { digestText } from "../../../files/canonical.ts";
import type { Relink } from "./relink.ts";
import { canGive } from "./uri-template.ts";

/** What one server of a caller lists. */
export interface LinkOwner {
  /** What stands for it in URIs. */
  readonly label: string;
  /** As its owner calls it. */
  readonly name: string;
  readonly uris: ReadonlySet<string>;
  readonly templates: ReadonlySet<string>;
}

/** A resource, or a template, of a server, as the server writes it. */
export interface Found {
  readonly label: string;
  readonly uri: string;
}

interface Linked {
  readonly owners: readonly LinkOwner[];
  /** Of the server that wrote it. */
  readonly label: string;
  readonly uri: string;
}

const SCHEME = "belljar-mcp://";
const UI = "ui://";
/** Of resources that are in no list, but in an answer: of one principal, and how many principals have any. */
const LINKED_MAX = 10_000;
const LINKING_MAX = 100;
/** In characters. A longer one goes out with its server, and is found by that. */
const URI_MAX = 4_096;

/**
 * How callers write the URIs of their servers. A URI goes out as its server writes it, while one server of the caller has it. Once a second
 * one lists it, both go out as `belljar-mcp://SERVER/URI`, and `ui://` keeps its scheme: `ui://SERVER/REST`. A server has what it lists; what is
 * in no list belongs to the server whose answer had it last alone.
 */
export class HubLinks {
  readonly #ownersOf: (principal: Principal) => readonly LinkOwner[];
  /** By the principal's id. Least recently seen first, in both. */
  readonly #linked = new Map<string, Map<string, true>>();

  constructor(ownersOf: (principal: Principal) => readonly LinkOwner[]) {
    this.#ownersOf = ownersOf;
  }

  /** A URI of an answer or a list, for the caller. */
  out(principal: Principal, label: string, uri: string): string {
    return this.relink(principal, label)(uri);
  }

  /** The same for all URIs of one answer, or one page: it knows the servers as they are now. */
  relink(principal: Principal, label: string): Relink {
    const owners = this.#ownersOf(principal);
    return (uri) => this.#out(principal, { owners, label, uri });
  }

  #out(principal: Principal, { owners, label, uri }: Linked): string {
    const isListed = owners.some((owner) => owner.uris.has(uri));
    if (!isListed && uri.length > URI_MAX) return qualified(label, uri);
    if (!isListed) this.#note(principal, label, uri);
    const having = this.#having(principal, owners, uri);
    const isItsOwn = having.length === 1 && having[0]?.label === label && !isTaken(owners, uri);
    return isItsOwn ? uri : qualified(label, uri);
  }

  /** The same for templates. */
  relinkTemplates(principal: Principal, label: string): Relink {
    const owners = this.#ownersOf(principal);
    return (template) => {
      const having = owners.filter(({ templates }) => templates.has(template));
      return having.length === 1 && !isReserved(template) ? template : qualified(label, template);
    };
  }

  /** Undefined for what no server has. Throws `RESOURCE_AMBIGUOUS` for what several have. */
  find(principal: Principal, uri: string): Found | undefined {
    const owners = this.#ownersOf(principal);
    const having = isTaken(owners, uri) ? [] : this.#having(principal, owners, uri);
    if (having.length > 0) return only(having, uri);
    const named = parse(owners, uri);
    if (named || isReserved(uri)) return named;
    const giving = owners.filter((owner) => [...owner.templates].some((template) => canGive(template, uri)));
    return giving.length > 0 ? only(giving, uri) : alone(owners, uri);
  }

  /** The same for a template. */
  findTemplate(principal: Principal, template: string): Found | undefined {
    const owners = this.#ownersOf(principal);
    const having = owners.filter((owner) => owner.templates.has(template));
    return having.length > 0 && !isReserved(template) ? only(having, template) : parse(owners, template);
  }

  /** Those that list it, or else those in whose answers it was. */
  #having(principal: Principal, owners: readonly LinkOwner[], uri: string): readonly LinkOwner[] {
    const listing = owners.filter((owner) => owner.uris.has(uri));
    return listing.length > 0 ? listing : owners.filter(({ label }) => this.#linked.get(principal.id)?.has(keyOf(label, uri)));
  }

  #note({ id }: Principal, label: string, uri: string): void {
    const linked = this.#linked.get(id) ?? new Map<string, true>();
    setLast(linked, keyOf(label, uri), true, LINKED_MAX);
    setLast(this.#linked, id, linked, LINKING_MAX);
  }
}

/** Puts it behind the others, of which the first make room. */
function setLast<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= most) break;
    map.delete(oldest);
  }
}

/** A digest, because a server chooses how long its URIs are. No label has a slash. */
function keyOf(label: string, uri: string): string {
  return digestText(`${label}/${uri}`);
}

function qualified(label: string, uri: string): string {
  return uri.startsWith(UI) ? `${UI}${label}/${uri.slice(UI.length)}` : `${SCHEME}${label}/${uri}`;
}

/** URIs that no server can have for itself: Belljar's own, and those that name a server. */
function isReserved(uri: string): boolean {
  return /^belljar(?:-mcp)?:/i.test(uri);
}

/** The same, and a `ui://` that another one goes out as. */
function isTaken(owners: readonly LinkOwner[], uri: string): boolean {
  if (isReserved(uri)) return true;
  const named = uri.startsWith(UI) ? parse(owners, uri) : undefined;
  return named !== undefined && owners.some(({ label, uris }) => label === named.label && uris.has(named.uri));
}

function parse(owners: readonly LinkOwner[], uri: string): Found | undefined {
  const scheme = [SCHEME, UI].find((one) => uri.startsWith(one));
  if (scheme === undefined) return undefined;
  const end = uri.indexOf("/", scheme.length);
  const label = uri.slice(scheme.length, end < 0 ? undefined : end);
  if (end < 0 || !owners.some((owner) => owner.label === label)) return undefined;
  const rest = uri.slice(end + 1);
  return { label, uri: scheme === UI ? `${UI}${rest}` : rest };
}

function only(owners: readonly LinkOwner[], uri: string): Found {
  const [owner, ...others] = owners;
  if (owner && others.length === 0) return { label: owner.label, uri };
  const forms = owners.slice(0, 5).map(({ label, name }) => `${qualified(label, uri)} of the server "${name}"`);
  throw new BelljarError("RESOURCE_AMBIGUOUS", `Several servers have ${uri.slice(0, 200)}: use ${forms.join(", or ")}`);
}

/** What is in no list is asked for where only one server could have it. */
function alone(owners: readonly LinkOwner[], uri: string): Found | undefined {
  const [owner, ...others] = owners;
  return owner && others.length === 0 ? { label: owner.label, uri } : undefined;
}
