import type { IncomingMessage, ServerResponse } from "node:http";
import type { Flow } from "./flow.ts";
import { lendReads } from "./origin-socket.ts";

export interface LendBodyOptions {
  readonly response: ServerResponse;
  readonly flow: Flow;
  /** Called when something moved. */
  readonly touch: () => void;
}

/** Of a smaller body the parser's copy costs less than the connection, which cannot be used again. */
const BULK_BODY_BYTES = 1_048_576;

/**
 * Hands a large body of known length from the origin's socket to the program: the parser, which would copy it, sees its head alone.
 * False for any other, which is not touched. An origin that ends before its body does is an error of the answer, as ever.
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
    // All of it came: what the origin's connection does from here on is no fault of the answer.
    flow.end();
    incoming.destroy();
  };
  if (!lendReads(incoming.socket, give)) return false;
  // What came with the head.
  incoming.on("data", (chunk: Buffer) => give(chunk));
  return true;
}

/** 0 when it has none, or when its end is told otherwise. */
function bodyLength({ headers, statusCode }: IncomingMessage, method: string | undefined): number {
  if (method === "HEAD" || statusCode === 204 || statusCode === 304 || headers["transfer-encoding"] !== undefined) return 0;
  const text = headers["content-length"] ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
