import { TransformStream } from "node:stream/web";
import type { FetchLike } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import { hasManyTokens } from "../../../files/json-tokens.ts";
import { EventSize } from "./event-size.ts";
import { GrowingBytes } from "./growing-bytes.ts";
import { MESSAGE_MAX_BYTES, MESSAGE_TOKENS } from "./message-lines.ts";
import { Pace } from "./pace.ts";

/**
 * A `fetch` whose answers hold no message of more bytes and values than one may have, after they were unpacked: else a server could fill the memory
 * with gzip of little. Of a stream of events each event counts alone, and a stream that never stops is read at the pace of all streams of this server.
 * A body beyond the bound fails with `RESULT_TOO_LARGE`. `tooLarge` is told of an event, because the stream does not tell who waits for it.
 */
export function boundedFetch(server: string, tooLarge: (error: BelljarError) => void, fetchFn: FetchLike = fetch): FetchLike {
  const pace = new Pace();
  return async (url, init) => {
    if (init?.method === "POST") pace.asked();
    const response = await fetchFn(url, init);
    if (!response.body) return response;
    const { status, statusText, headers } = response;
    const isStream = headers.get("content-type")?.trim().toLowerCase().startsWith("text/event-stream") === true;
    const refuse = (): BelljarError => {
      const error = new BelljarError("RESULT_TOO_LARGE", `The server "${server}" sent a message that is too large`);
      if (isStream) tooLarge(error);
      return error;
    };
    const bounded = response.body.pipeThrough(isStream ? inEvents(refuse, pace) : inOne(refuse));
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
    flush(controller) {
      const bytes = body.take();
      if (hasManyTokens(bytes, MESSAGE_TOKENS)) throw refuse();
      controller.enqueue(bytes);
    },
  });
}

/** Gives whole lines alone: the SDK's reader looks through the rest of a line again for each chunk. */
function inEvents(refuse: () => BelljarError, pace: Pace): TransformStream<Uint8Array, Uint8Array> {
  const line = new GrowingBytes();
  const size = new EventSize(refuse);
  return new TransformStream({
    async transform(chunk, controller) {
      const tokens = size.add(chunk);
      line.append(chunk);
      if (chunk.includes(0x0a) || chunk.includes(0x0d)) controller.enqueue(line.take());
      await pace.next(chunk.length, tokens);
    },
    flush: (controller) => controller.enqueue(line.take()),
  });
}
