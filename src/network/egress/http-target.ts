import type { IncomingMessage } from "node:http";
import { parseAuthority } from "../host-name.ts";
import { type Place, Refusal } from "./refusal.ts";

/** The target of a request. */
export interface HttpTarget {
  readonly place: Place;
  readonly scheme: "http" | "https";
  /** Path with the query. */
  readonly path: string;
}

export type HttpOrigin = Omit<HttpTarget, "path">;

const ABSOLUTE = /^(https?):\/\/([^/?#]*)((?:[/?][^#]*)?)$/i;

/** `fixed` is the target of a tunnel. Without it, the request must name its target in absolute form, as for every proxy. */
export function readTarget(request: IncomingMessage, fixed: HttpOrigin | undefined): HttpTarget | Refusal {
  const url = request.url ?? "";
  const absolute = ABSOLUTE.exec(url);
  if (!fixed && !absolute) {
    return badRequest(
      "This is the proxy of a sandbox. Programs use it through http_proxy, https_proxy and all_proxy; it has no pages of its own.",
    );
  }
  if (!fixed && absolute?.[1]?.toLowerCase() === "https")
    return badRequest("For https, a client asks the proxy to CONNECT and speaks TLS itself.");
  const origin = absolute ? fromAbsolute(absolute[2] ?? "", fixed?.scheme ?? "http") : fixed;
  if (!origin) return badRequest("The address of the request names no host.");
  if (fixed && !isSame(origin, fixed)) return mismatch();
  const path = absolute ? toOriginForm(absolute[3] ?? "") : url;
  if (!path.startsWith("/") && path !== "*") return badRequest("The request has no valid path.");
  return hostAgrees(request, origin) ? { ...origin, path } : mismatch();
}

function fromAbsolute(authority: string, scheme: HttpOrigin["scheme"]): HttpOrigin | undefined {
  const place = parseAuthority(authority, scheme === "https" ? 443 : 80);
  return place && { place, scheme };
}

function toOriginForm(rest: string): string {
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function isSame(left: HttpOrigin, right: HttpOrigin): boolean {
  return left.place.host === right.place.host && left.place.port === right.place.port;
}

/** Allows at most one Host header, which must name the request's target. */
function hostAgrees(request: IncomingMessage, { place, scheme }: HttpOrigin): boolean {
  const hosts = request.headersDistinct["host"] ?? [];
  if (hosts.length === 0) return request.httpVersion === "1.0";
  const named = parseAuthority(hosts[0] ?? "", scheme === "https" ? 443 : 80);
  return hosts.length === 1 && named?.host === place.host && named.port === place.port;
}

export function badRequest(text: string): Refusal {
  return new Refusal("bad-request", text);
}

function mismatch(): Refusal {
  return new Refusal("host-mismatch", "The Host of the request is not the host that the connection is for.");
}
