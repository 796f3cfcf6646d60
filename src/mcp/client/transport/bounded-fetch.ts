import { TransformStream } from "node:stream/web";
import type { FetchLike } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import { GrowingBytes } from "./growing-bytes.ts";
import { MESSAGE_MAX_BYTES } from "./message-lines.ts";

const EVENT_ENDS = ["\n\n", "\r\n\r\n", "\r\r"] as const;
const EVENT_END_MAX = 4;

/**
 * A `fetch` whose answers hold no message of more bytes than one may have, after they were unpacked: else a server could fill the memory with
 * gzip of little. Of a stream of events each event counts alone. A body beyond the bound fails with `RESULT_TOO_LARGE`. `tooLarge` is told of
 * an event, because the stream does not tell who waits for it.
 */
export function boundedFetch(server: string, tooLarge: (error: BelljarError) => void, fetchFn: FetchLike = fetch): FetchLike {
  return async (url, init) => {
    const response = await fetchFn(url, init);
    if (!response.body) return response;
    const { status, statusText, headers } = response;
    const isStream = headers.get("content-type")?.trim().toLowerCase().startsWith("text/event-stream") === true;
    const refuse = (): BelljarError => {
      const error = new BelljarError("RESULT_TOO_LARGE", `The server "${server}" sent a message that is too large`);
      if (isStream) tooLarge(error);
      return error;
    };
    const bounded = response.body.pipeThrough(isStream ? inEvents(refuse) : inOne(refuse));
    return new Response(bounded, { status, statusText, headers });
  };
}

/** Gives all bytes at once, at the end. */
function inOne(refuse: () => BelljarError): TransformStream<Uint8Array, Uint8Array> {
  const body = new GrowingBytes();
  return new TransformStream({
    transform(chunk) {
      if (body.length + chunk.length > MESSAGE_MAX_BYTES) throw refuse();
      body.append(chunk);
    },
    flush: (controller) => controller.enqueue(body.take()),
  });
}

/** Gives whole lines alone: the SDK's reader looks through the rest of a line again for each chunk. */
function inEvents(refuse: () => BelljarError): TransformStream<Uint8Array, Uint8Array> {
  const line = new GrowingBytes();
  let tail = Buffer.alloc(0);
  let eventBytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const seen = Buffer.concat([tail, chunk]);
      const end = lastEventEnd(seen);
      eventBytes = end === undefined ? eventBytes + chunk.length : seen.length - end;
      if (eventBytes > MESSAGE_MAX_BYTES) throw refuse();
      tail = Buffer.from(seen.subarray(1 - EVENT_END_MAX));
      line.append(chunk);
      if (chunk.includes(0x0a) || chunk.includes(0x0d)) controller.enqueue(line.take());
    },
    flush: (controller) => controller.enqueue(line.take()),
  });
}

/** Where the last event that ends in these bytes ends. */
function lastEventEnd(bytes: Buffer): number | undefined {
  const ends = EVENT_ENDS.flatMap((text) => {
    const at = bytes.lastIndexOf(text);
    return at === -1 ? [] : [at + text.length];
  });
  return ends.length === 0 ? undefined : Math.max(...ends);
}
