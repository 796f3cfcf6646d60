import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { Replacement } from "./byte-replacer.ts";
import { createReplaceStream, replaceBytes } from "./byte-replacer.ts";
import { withStars } from "./echo-forms.ts";
import type { ResponseMask } from "./secret-guard.ts";

/** They speak of a body that the mask may change. */
const OF_THE_BODY = new Set(["content-length", "content-md5", "digest", "content-digest", "repr-digest"]);

/** Takes these texts out of a response. */
export function createResponseMask(replacements: readonly Replacement[]): ResponseMask {
  const maskText = (text: string): string => replaceBytes(replacements, Buffer.from(text, "latin1")).toString("latin1");
  return {
    headers: (headers) => maskHeaders(headers, maskText),
    text: maskText,
    body: () => createReplaceStream(replacements),
    upgraded: () => createReplaceStream(withStars(replacements)),
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
