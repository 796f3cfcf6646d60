import type { Area } from "../../sandbox/sandbox.ts";
import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";

/** A scope of tokens that a route can ask for. A token that names none of this kind has them all; one that names some has those alone. */
export type RouteScope = `toolset:${string}` | Area;

/** What a route asks of its caller. No route is served without one, and nothing is read from its path. */
export type Access =
  /** Everybody may ask, token or not. */
  | { readonly kind: "open" }
  /** Every caller may enter; whatever is asked for there is judged behind it, by the tool or the resource that it names. */
  | { readonly kind: "door" }
  /** For callers that have each of these scopes; a token that only reads is served nothing that changes. */
  | { readonly kind: "scoped"; readonly scopes: readonly [RouteScope, ...RouteScope[]]; readonly changes: boolean };

export const OPEN: Access = { kind: "open" };
export const DOOR: Access = { kind: "door" };

export function reads(...scopes: [RouteScope, ...RouteScope[]]): Access {
  return { kind: "scoped", scopes, changes: false };
}

export function changes(...scopes: [RouteScope, ...RouteScope[]]): Access {
  return { kind: "scoped", scopes, changes: true };
}

/** Throws where a route has none: a fault of whoever wrote the route, which must not wait for a request. */
export function assertDeclared(access: Access | undefined, route: string): Access {
  if (access?.kind === "open" || access?.kind === "door" || (access?.kind === "scoped" && access.scopes.length > 0)) return access;
  throw new TypeError(`The route ${route} does not say which scope it needs: give it OPEN, DOOR, reads(SCOPE) or changes(SCOPE)`);
}

/** Throws `FORBIDDEN` and names the scope that is missing. */
export function assertGranted({ grants = {} }: Principal, access: Access, route: string): void {
  if (access.kind !== "scoped") return;
  if (grants.readOnly && access.changes) throw refused(`may only read (its scope read-only), and ${route} changes something`);
  const missing = access.scopes.filter((scope) => !hasScope(grants, scope));
  if (missing.length > 0) throw refused(`has no scope ${missing.join(" and no scope ")}, which ${route} needs`);
}

function hasScope({ toolsets, areas = [] }: NonNullable<Principal["grants"]>, scope: RouteScope): boolean {
  if (toolsets === undefined) return true;
  return scope.startsWith("toolset:") ? toolsets.includes(scope.slice("toolset:".length)) : areas.some((area) => area === scope);
}

function refused(why: string): BelljarError {
  return new BelljarError("FORBIDDEN", `This token ${why}: use one that may`);
}
