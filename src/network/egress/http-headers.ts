import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { hopByHop } from "../http/hop-by-hop.ts";

/** The headers that go on to the other side. */
export function withoutHopByHop(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const isHop = hopByHop(headers.connection);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isHop(name)));
}

/** About what a head takes on the wire. */
export function headBytes(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
}

export function without(headers: OutgoingHttpHeaders, ...names: readonly string[]): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}
