import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { ResponseMask } from "../secrets/secret-guard.ts";
import type { Flow } from "./flow.ts";
import { unreachable } from "./gate.ts";
import { headBytes, without, withoutHopByHop } from "./http-headers.ts";
import { lendBody } from "./lend-body.ts";

export interface RelayOptions {
  readonly response: ServerResponse;
  readonly flow: Flow;
  readonly mask: ResponseMask | undefined;
  /** Called when bytes have moved. */
  readonly touch: () => void;
}

/** Streams an answer from the outside to the program. The guard masks secrets in it. */
export function relayAnswer(incoming: IncomingMessage, { response, flow, mask, touch }: RelayOptions): void {
  const plain = mask ? decode(incoming) : [];
  if (!plain || !writeHead(response, incoming, mask)) return flow.stop(unreachable("bad-response", flow.place));
  flow.received(headBytes(incoming.rawHeaders));
  response.on("drain", touch);
  const chain = mask ? [...plain, mask.body()] : [];
  for (const stream of [incoming, ...chain]) stream.once("error", () => flow.stop(unreachable("reset", flow.place)));
  if (!mask && lendBody(incoming, { response, flow, touch })) return;
  incoming.on("data", (chunk: Buffer) => {
    flow.received(chunk.length);
    touch();
  });
  let from: NodeJS.ReadableStream = incoming;
  for (const stream of chain) from = from.pipe(stream);
  from.pipe(response);
}

function writeHead(response: ServerResponse, incoming: IncomingMessage, mask: ResponseMask | undefined): boolean {
  const headers = withoutHopByHop(incoming.headers);
  const shown = mask ? maskHead(headers, mask, response.req.method) : headers;
  const phrase = incoming.statusMessage ?? "";
  response.sendDate = false;
  try {
    response.writeHead(incoming.statusCode ?? 502, mask ? mask.text(phrase) : phrase, shown);
    return true;
  } catch {
    // The head holds bytes that Node's parser accepts and its writer refuses.
    return false;
  }
}

/** Removes headers about the body, because masking changes it. The answer to a HEAD keeps its Content-Length. */
function maskHead(headers: IncomingHttpHeaders, mask: ResponseMask, method: string | undefined): OutgoingHttpHeaders {
  const length = method === "HEAD" ? headers["content-length"] : undefined;
  return { ...without(mask.headers(headers), "content-encoding"), ...(length !== undefined && { "content-length": length }) };
}

/** Partial content and deltas, which were not requested and cannot be masked. */
const IN_PIECES = new Set([206, 226]);

/** Returns the decoders of a compressed body. Some servers compress although identity was requested. Undefined: it cannot be decoded. */
function decode(incoming: IncomingMessage): readonly Transform[] | undefined {
  if (IN_PIECES.has(incoming.statusCode ?? 0)) return undefined;
  if ((incoming.headers["transfer-encoding"] ?? "chunked").trim().toLowerCase() !== "chunked") return undefined;
  const encoding = incoming.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return [];
  if (encoding === "gzip" || encoding === "x-gzip") return [createGunzip()];
  if (encoding === "br") return [createBrotliDecompress()];
  return encoding === "deflate" ? [createInflate()] : undefined;
}
