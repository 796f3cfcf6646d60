import type { Readable } from "node:stream";
import { VALUES_MAX } from "../../../../catalog/value-count.ts";
import { BelljarError } from "../../../../errors.ts";
import { parseJson } from "../../../../files/parse-json.ts";
import { jsonHasMoreValues } from "../../../json-values.ts";

/** One byte of flags and four of a length stand before each message of a stream. */
const HEAD_BYTES = 5;
const FLAG = { COMPRESSED: 1, END: 2 } as const;
/** What a message of a client may be long. The sandbox's input comes in pieces of far less. */
export const MESSAGE_MAX_BYTES = 4 * 1024 * 1024;

/** A failure in Connect's words. */
export interface ConnectFailure {
  readonly code: string;
  readonly message: string;
}

export function encodeMessage(message: unknown): Buffer {
  return envelop(0, JSON.stringify(message));
}

/** The last envelope of each answer. A stream without it was cut. */
export function encodeEnd(failure?: ConnectFailure): Buffer {
  return envelop(FLAG.END, JSON.stringify(failure ? { error: failure } : {}));
}

function envelop(flags: number, text: string): Buffer {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + length);
  bytes[0] = flags;
  bytes.writeUInt32BE(length, 1);
  bytes.write(text, HEAD_BYTES);
  return bytes;
}

/**
 * Yields the messages of a request as they come, and holds one at a time. Throws `ARGUMENTS_INVALID` for what is no envelope, for JSON that cannot be
 * read and where the request stops within a message, `REQUEST_TOO_LARGE` for a message past 4 MiB, and `NOT_SUPPORTED` for a compressed one.
 */
export async function* readMessages(body: Readable): AsyncGenerator {
  const bytes = new HeldBytes();
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    bytes.add(chunk as Buffer);
    for (let message = bytes.take(); message !== undefined; message = bytes.take()) yield toValue(message);
  }
  if (bytes.length > 0) throw malformed("the request stops within a message");
}

/** The one message of a request, as soon as it is there. Rejects as `readMessages` does, and for a request without one. */
export async function readMessage(body: Readable): Promise<unknown> {
  for await (const message of readMessages(body)) {
    // Whatever follows is thrown away, up to the limit of the route.
    body.resume();
    return message;
  }
  throw malformed("the request has no message");
}

/** The bytes that have come and belong to no message yet. Grows by doubling: a message that comes byte by byte costs no more than a whole one. */
class HeldBytes {
  #bytes = Buffer.alloc(0);
  length = 0;

  add(chunk: Buffer): void {
    const needed = this.length + chunk.length;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(grown, 0, 0, this.length);
      this.#bytes = grown;
    }
    chunk.copy(this.#bytes, this.length);
    this.length = needed;
  }

  /** The next whole message. Its bytes are a copy. */
  take(): Buffer | undefined {
    if (this.length < HEAD_BYTES) return undefined;
    const size = HEAD_BYTES + messageLength(this.#bytes);
    if (this.length < size) return undefined;
    const message = Buffer.from(this.#bytes.subarray(HEAD_BYTES, size));
    this.#bytes.copyWithin(0, size, this.length);
    this.length -= size;
    return message;
  }
}

function messageLength(head: Buffer): number {
  const flags = head[0] ?? 0;
  if (flags & FLAG.COMPRESSED) throw new BelljarError("NOT_SUPPORTED", "Send messages without compression: none was offered");
  if (flags !== 0) throw malformed(`a message has the flags ${flags}`);
  const length = head.readUInt32BE(1);
  if (length > MESSAGE_MAX_BYTES)
    throw new BelljarError("REQUEST_TOO_LARGE", `A message is larger than ${MESSAGE_MAX_BYTES / 1_048_576} MiB`);
  return length;
}

function toValue(bytes: Buffer): unknown {
  const text = bytes.toString("utf8");
  if (jsonHasMoreValues(text, VALUES_MAX)) throw malformed(`a message holds more than ${VALUES_MAX} values`);
  const value = parseJson(text);
  if (value === undefined) throw malformed("a message is not well-formed JSON");
  return value;
}

function malformed(what: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `The request is not Connect's: ${what}`);
}
