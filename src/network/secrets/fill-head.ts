import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { replacePlaceholders } from "./placeholder.ts";
import type { RequestHead } from "./secret-guard.ts";

/** `fixed`: headers that control the connection, and names of headers. Nothing may be filled in there. */
export type HeadPart = "header" | "basic" | "path" | "fixed";

/** Returns the replacement of a placeholder in this part, with one character for each byte. */
export type Visit = (placeholder: string, place: HeadPart) => string;

const FIXED = new Set([
  "host",
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const BASIC = /^(basic +)([A-Za-z0-9+/_-]+=*) *$/i;

/** Replaces each placeholder in a request head by the result of `visit`, even inside basic authorization. */
export function fillHead({ path, headers }: RequestHead, visit: Visit): { readonly path: string; readonly headers: OutgoingHttpHeaders } {
  return { path: replacePlaceholders(path, (found) => visit(found, "path")), headers: fillHeaders(headers, visit) };
}

function fillHeaders(headers: IncomingHttpHeaders, visit: Visit): OutgoingHttpHeaders {
  const filled: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    replacePlaceholders(name, (found) => visit(found, "fixed"));
    const fill = (text: string): string => fillHeader(name, text, visit);
    if (value !== undefined) filled[name] = typeof value === "string" ? fill(value) : value.map(fill);
  }
  return filled;
}

function fillHeader(name: string, text: string, visit: Visit): string {
  const [, scheme = "", credentials = ""] = BASIC.exec(text) ?? [];
  const decoded = Buffer.from(credentials, "base64").toString("latin1");
  const filled = replacePlaceholders(decoded, (found) => visit(found, FIXED.has(name) ? "fixed" : "basic"));
  if (filled !== decoded) return scheme + Buffer.from(filled, "latin1").toString("base64");
  return replacePlaceholders(text, (found) => visit(found, FIXED.has(name) ? "fixed" : "header"));
}
