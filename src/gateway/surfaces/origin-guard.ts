import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { BelljarError } from "../../errors.ts";
import { isSecure } from "../../network/http/is-secure.ts";
import { isLoopback } from "../loopback.ts";
import type { Reach } from "./surface.ts";
import { isHost } from "./surface-map.ts";

/**
 * Refuses a name that was rebound to this address. Beyond loopback a server has names that it does not know, but serves nobody without
 * a token, which no page can send by itself. A surface is asked under its own hosts too. Throws `FORBIDDEN`.
 */
export function assertOwnHost(request: Pick<IncomingMessage, "headers" | "socket">, configuredHost: string, reach: Reach): void {
  const asked = hostnameOf(`http://${request.headers.host ?? ""}`);
  const hosts = [...(reach.hosts ?? []), ...(isSecure(request) ? (reach.tls?.hosts ?? []) : [])];
  if (asked !== undefined && hosts.some((pattern) => isHost(asked, pattern))) return;
  const isOwn = isLoopback(configuredHost) ? isOwnName(asked, configuredHost) : asked !== undefined;
  if (!isOwn) throw new BelljarError("FORBIDDEN", "The Host header names another server; use the address that belljar serve printed");
}

/**
 * Refuses what a web page of another site makes a browser send: by Origin, and by Sec-Fetch-Site for what a page loads without asking,
 * as an image; a link that a person follows is served. Programs send no Origin. Throws `FORBIDDEN`.
 */
export function assertOwnPage(headers: IncomingHttpHeaders): void {
  if (isLoadedElsewhere(headers) || (headers.origin !== undefined && !isSameOrigin(headers.origin, headers.host ?? ""))) {
    throw new BelljarError("FORBIDDEN", "Requests from pages of other sites are refused");
  }
}

function isLoadedElsewhere(headers: IncomingHttpHeaders): boolean {
  const site = headers["sec-fetch-site"];
  return (site === "cross-site" || site === "same-site") && headers["sec-fetch-mode"] !== "navigate";
}

/** Another port of this machine is another site: it may be a sandbox's own page. */
function isSameOrigin(origin: string, host: string): boolean {
  return /^https?:\/\//i.test(origin) && origin.slice(origin.indexOf("//") + 2).toLowerCase() === host.toLowerCase();
}

function hostnameOf(origin: string): string | undefined {
  try {
    return new URL(origin).hostname.replace(/^\[|\]$/g, "");
  } catch {
    return undefined;
  }
}

/** Whether this server may be asked for under that name. */
export function isOwnName(name: string | undefined, configuredHost: string): boolean {
  return name !== undefined && name !== "" && (isLoopback(name) || name === configuredHost);
}
