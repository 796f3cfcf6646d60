import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { createMaskStream, maskEchoes } from "./echo-mask.ts";
import { createFrameMaskStream } from "./frame-mask.ts";
import type { KnownValue } from "./echo-patterns.ts";
import { createEchoPatterns } from "./echo-patterns.ts";
import { EchoScanner } from "./echo-scanner.ts";
import type { ResponseMask } from "./secret-guard.ts";

/** Headers that describe the body, which the mask may change. */
const OF_THE_BODY = new Set(["content-length", "content-md5", "digest", "content-digest", "repr-digest"]);

/** Creates a mask for these values in a response. */
export function createResponseMask(values: readonly KnownValue[]): ResponseMask {
  const scanner = new EchoScanner(createEchoPatterns(values));
  const maskText = (text: string): string => maskEchoes(scanner, Buffer.from(text, "latin1")).toString("latin1");
  return {
    headers: (headers) => maskHeaders(headers, maskText),
    text: maskText,
    body: () => createMaskStream(scanner),
    upgraded: () => createFrameMaskStream(scanner),
  };
}
function maskHeaders(headers: IncomingHttpHeaders, maskText: (text: string) => string): OutgoingHttpHeaders {
  const masked: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || OF_THE_BODY.has(name)) continue;
    masked[maskText(name)] = typeof value === "string" ? maskText(value) : value.map(maskText);
  }
  return masked;
}
