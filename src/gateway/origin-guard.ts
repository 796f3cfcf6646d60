import type { IncomingHttpHeaders } from "node:http";
import { BelljarError } from "../errors.ts";
import { isLoopback } from "./loopback.ts";

/**
 * Refuses what a web page makes a browser send: a name that was rebound to this address (Host), or a page of another site (Origin, and
 * Sec-Fetch-Site for what a page loads without asking, as an image; a link that a person follows is served).
 * Beyond loopback a server has names that it does not know, but serves nobody without a token, which no page can send by itself:
 * there the page must only be of the name that it asks. Programs send no Origin. Throws `FORBIDDEN`.
 */
export function assertOwnOrigin(headers: IncomingHttpHeaders, configuredHost: string): void {
  const asked = hostnameOf(`http://${headers.host ?? ""}`);
  const isOwn = (name: string | undefined): boolean => (isLoopback(configuredHost) ? isOwnName(name, configuredHost) : name === asked);
  if (asked === undefined || !isOwn(asked)) {
    throw new BelljarError("FORBIDDEN", "The Host header names another server; use the address that belljar serve printed");
  }
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

/** A page can send other types without asking first. Throws `MEDIA_TYPE_UNSUPPORTED`. */
export function assertJson(headers: IncomingHttpHeaders): void {
  const type = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new BelljarError("MEDIA_TYPE_UNSUPPORTED", "Send the body with content-type: application/json");
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
