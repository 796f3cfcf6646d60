import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { hopByHop } from "../http/hop-by-hop.ts";

/** Returns the headers that are forwarded to the other side. */
export function withoutHopByHop(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const isHop = hopByHop(headers.connection);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isHop(name)));
}

/** Estimates the size of a head on the wire. */
export function headBytes(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
}

export function without(headers: OutgoingHttpHeaders, ...names: readonly string[]): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}
