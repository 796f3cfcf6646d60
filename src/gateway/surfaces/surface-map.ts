import type { IncomingMessage } from "node:http";
import { isSecure } from "../../network/http/is-secure.ts";
import { hostNameOf } from "../../network/ports/port-target.ts";
import { isPreflight } from "./cors.ts";
import type { Certificates, Reach } from "./surface.ts";
import { isBelow } from "../../files/is-below.ts";

/** One row of the table of roots: requests of this kind are the surface's. */
export interface Root {
  readonly kind: "host" | "header" | "path";
  readonly root: string;
  readonly surface: string;
}

/** Who claims requests. */
export interface Claimant {
  readonly name: string;
  readonly reach: Reach;
  /** Absent for one that reads the paths by itself. */
  readonly paths?: readonly string[];
}

export type MappedRequest = Pick<IncomingMessage, "method" | "url" | "headers" | "socket">;

/** Who answers which request. There is always one. */
export interface SurfaceMap<Served extends Claimant> {
  readonly find: (request: MappedRequest) => Served;
  /** Who has certificates for the name. */
  readonly findTls: (name: string) => Certificates | undefined;
  /** Hosts, headers, paths, each by name. */
  readonly roots: readonly Root[];
}

type Entry<Served> = Root & { readonly owner: Served };
type Names = (reach: Reach) => readonly string[];

/** Throws when two surfaces claim the same, when nobody has `/`, and when a route lies where another surface answers. */
export function createSurfaceMap<Served extends Claimant>(surfaces: readonly Served[]): SurfaceMap<Served> {
  const hosts = collect(surfaces, "host", ({ hosts: names = [], tls }) => [...names, ...(tls?.hosts ?? [])]);
  const headers = collect(surfaces, "header", ({ headers: names = [] }) => names);
  const paths = collect(surfaces, "path", ({ prefixes = [] }) => prefixes);
  const rest = paths.find(({ root }) => root === "/")?.owner;
  if (!rest) throw new TypeError("No surface answers what is nobody's: give one the prefix /");
  const byPath = (path: string): Served => paths.find(({ root }) => isBelow(path, root))?.owner ?? rest;
  for (const surface of surfaces) assertOwnPaths(surface, byPath);
  return {
    find(request) {
      const [name, path] = [hostNameOf(request), pathOf(request.url ?? "")];
      const host = hosts.find(
        ({ root, owner }) => isHost(name, root) && isUnder(path, root) && (isPlain(root, owner) || isSecure(request)),
      );
      const header = host ?? headers.find(({ root }) => isUnder(path, root) && (hasHeader(request, root) || isAskedFor(request, root)));
      return header?.owner ?? byPath(path);
    },
    findTls: (name) =>
      hosts.find(({ root, owner }) => !isPlain(root, owner) && isHost(name.toLowerCase(), root))?.owner.reach.tls?.certificates,
    roots: [hosts, headers, paths].flatMap(byName),
  };
}

/** `NAME`, `NAME/PATH`, or `NAME: VALUE`. */
function hasHeader({ headers }: MappedRequest, root: string): boolean {
  const [name = "", value] = nameOf(root).split(": ", 2);
  return headers[name] !== undefined && (value === undefined || headers[name] === value);
}

/** Whether a browser asks if a page may send the header: it sends no header of the page's with that question. */
function isAskedFor(request: MappedRequest, header: string): boolean {
  const names = isPreflight(request) ? (request.headers["access-control-request-headers"] ?? "") : "";
  return names
    .toLowerCase()
    .split(",")
    .some((name) => name.trim() === nameOf(header));
}

/** The longest first; of two as long a name before a wildcard. */
function collect<Served extends Claimant>(surfaces: readonly Served[], kind: Root["kind"], namesOf: Names): readonly Entry<Served>[] {
  const entries = surfaces.flatMap((owner) => namesOf(owner.reach).map((root) => ({ kind, root, surface: owner.name, owner })));
  for (const [at, { root, surface }] of entries.entries()) {
    const other = entries.findIndex((entry) => entry.root === root);
    if (other !== at)
      throw new TypeError(`The ${kind} ${root} belongs to ${entries[other]?.surface} already, and ${surface} claims it too`);
  }
  return entries.toSorted((a, b) => b.root.length - a.root.length || (a.root > b.root ? -1 : 1));
}

function byName(entries: readonly Root[]): readonly Root[] {
  return entries.map(({ kind, root, surface }) => ({ kind, root, surface })).toSorted((a, b) => (a.root < b.root ? -1 : 1));
}

/** Whoever is found by hosts or headers too is asked there for every path. */
function assertOwnPaths({ name, reach, paths = [] }: Claimant, byPath: (path: string) => Claimant): void {
  if (reach.prefixes === undefined || reach.hosts || reach.tls || reach.headers) return;
  for (const path of paths) {
    const owner = byPath(path).name;
    if (owner !== name) throw new TypeError(`The route ${path} of ${name} is never asked: its path belongs to ${owner}`);
  }
}

/** Whether the pattern of a reach stands for the name. */
export function isHost(name: string, pattern: string): boolean {
  const host = nameOf(pattern);
  const [before = "", after] = host.split("*", 2);
  if (after === undefined) return name === host;
  const isLongEnough = name.length > before.length + after.length && name.startsWith(before) && name.endsWith(after);
  return isLongEnough && (before === "" || !name.slice(before.length, -after.length).includes("."));
}

/** A root without its path. */
function nameOf(root: string): string {
  return root.split("/", 1)[0] ?? "";
}

function isUnder(path: string, pattern: string): boolean {
  const at = pattern.indexOf("/");
  return at < 0 || isBelow(path, pattern.slice(at));
}

function isPlain(pattern: string, { reach: { hosts = [] } }: Claimant): boolean {
  return hosts.includes(pattern);
}

/** The path as it was sent, of a request that names a whole URL too; what is spelled otherwise is nobody's. */
function pathOf(url: string): string {
  const [path = ""] = url.split(/[?#]/, 1);
  if (path.startsWith("/")) return path;
  return path.replace(/^https?:\/\/[^/]*/i, "");
}
