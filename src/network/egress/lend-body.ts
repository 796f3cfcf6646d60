import type { IncomingMessage, ServerResponse } from "node:http";
import type { Flow } from "./flow.ts";
import { lendReads } from "./origin-socket.ts";

export interface LendBodyOptions {
  readonly response: ServerResponse;
  readonly flow: Flow;
  /** Called when bytes have moved. */
  readonly touch: () => void;
}

/** Lending costs the connection, which cannot be reused. For a smaller body, the parser's copy is cheaper. */
const BULK_BODY_BYTES = 1_048_576;

/**
 * Passes a large body of known length directly from the origin's socket to the program, without the copy of the HTTP parser. Returns false
 * for any other body, and does not touch it. If the origin ends too early, the answer fails as usual.
 */
export function lendBody(incoming: IncomingMessage, { response, flow, touch }: LendBodyOptions): boolean {
  let left = bodyLength(incoming, response.req.method);
  if (left < BULK_BODY_BYTES) return false;
  const give = (bytes: Buffer, done?: () => void): void => {
    const body = bytes.subarray(0, left);
    left -= body.length;
    flow.received(body.length);
    touch();
    response.write(body, done);
    if (left === 0) finish();
  };
  const finish = (): void => {
    response.end();
    // The body is complete, so later errors of the origin's connection do not matter.
    flow.end();
    incoming.destroy();
  };
  if (!lendReads(incoming.socket, give)) return false;
  // Bytes that came with the head.
  incoming.on("data", (chunk: Buffer) => give(chunk));
  return true;
}

/** Returns 0 if there is no body, or if its length is not given by Content-Length. */
function bodyLength({ headers, statusCode }: IncomingMessage, method: string | undefined): number {
  if (method === "HEAD" || statusCode === 204 || statusCode === 304 || headers["transfer-encoding"] !== undefined) return 0;
  const text = headers["content-length"] ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
