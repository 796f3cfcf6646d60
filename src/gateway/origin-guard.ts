import type { IncomingHttpHeaders } from "node:http";
import { BelljarError } from "../errors.ts";
import { isLoopback } from "./loopback.ts";

/**
 * Refuses what a web page makes a browser send: a name that was rebound to this address (Host), or a page of another site (Origin).
 * Programs send no Origin. Throws `FORBIDDEN`.
 */
export function assertOwnOrigin(headers: IncomingHttpHeaders, configuredHost: string): void {
  if (!isOwnName(hostnameOf(`http://${headers.host ?? ""}`), configuredHost)) {
    throw new BelljarError("FORBIDDEN", "The Host header names another server; use the address that belljar serve printed");
  }
  if (headers.origin !== undefined && !isOwnName(hostnameOf(headers.origin), configuredHost)) {
    throw new BelljarError("FORBIDDEN", "Requests from pages of other sites are refused");
  }
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

function isOwnName(name: string | undefined, configuredHost: string): boolean {
  return name !== undefined && name !== "" && (isLoopback(name) || name === configuredHost);
}
