import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

/** RFC 9110, section 7.6.1, and what clients send to proxies. */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "expect",
]);

/** The headers that go on to the other side. */
export function withoutHopByHop(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set(
    (headers.connection ?? "")
      .toLowerCase()
      .split(",")
      .map((name) => name.trim()),
  );
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && (!named.has(name) || KEPT.has(name))));
}

/** Dropping these because a Connection header names them would change what a message is. */
const KEPT = new Set(["host", "content-length", "content-type", "content-encoding", "authorization", "cookie"]);

/** About what a head takes on the wire. */
export function headBytes(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
}

export function without(headers: OutgoingHttpHeaders, ...names: readonly string[]): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}
