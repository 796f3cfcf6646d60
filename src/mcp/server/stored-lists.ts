import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/server";
import { isRequestOf } from "./json-rpc.ts";

/** What the SDK writes for a list that is left to whoever writes the answer. As a part of a text it would be escaped. */
const LEFT_OUT = '"tools":[]';
const LEFT_OUT_BYTES = Buffer.from(LEFT_OUT);
const WAITING_MAX = 1_000;

/**
 * Lists of tools that are written from stored bytes: the SDK checks the request and makes an answer without them, and they are
 * put in where the answer leaves. Serialising a long list for each request would cost more than all else.
 */
export class StoredLists {
  readonly #waiting = new Map<RequestId, Buffer | undefined>();

  /** The answer to this message, if it asks for a list, will be completed. */
  expect(message: unknown): void {
    if (!isListRequest(message)) return;
    this.#waiting.set(message.id, undefined);
    for (const oldest of this.#waiting.keys()) {
      if (this.#waiting.size <= WAITING_MAX) break;
      this.#waiting.delete(oldest);
    }
  }

  /** False when nobody will complete the answer, which must then hold the list. */
  offer(id: RequestId, bytes: Buffer): boolean {
    if (!this.#waiting.has(id)) return false;
    this.#waiting.set(id, bytes);
    return true;
  }

  /** Gives the list once. */
  take(id: RequestId): Buffer | undefined {
    const bytes = this.#waiting.get(id);
    this.#waiting.delete(id);
    return bytes;
  }

  /** The one line of an answer, complete; undefined for a message that needs nothing put in. */
  completeLine(message: JSONRPCMessage): Buffer | undefined {
    if (!("result" in message)) return undefined;
    const bytes = this.take(message.id);
    return bytes && Buffer.concat(complete(Buffer.from(`${JSON.stringify(message)}\n`), bytes));
  }

  /** The parts of the whole answer to `message`. A long list is a part by itself, and is not copied. */
  completeAnswer(message: unknown, answer: Uint8Array): readonly Uint8Array[] {
    const bytes = isListRequest(message) ? this.take(message.id) : undefined;
    return bytes ? complete(answer, bytes) : [answer];
  }

  /** Completes the answer to `message` on its way out of `response`. */
  completeResponse(message: unknown, response: ServerResponse): void {
    if (!isListRequest(message)) return;
    this.expect(message);
    const { id } = message;
    const write = response.write.bind(response) as (chunk: unknown, ...rest: unknown[]) => boolean;
    const filled = (chunk: unknown): unknown => {
      if (!(chunk instanceof Uint8Array) || !Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).includes(LEFT_OUT_BYTES))
        return chunk;
      const bytes = this.take(id);
      return bytes ? Buffer.concat(complete(chunk, bytes)) : chunk;
    };
    response.write = (chunk: unknown, ...rest: unknown[]): boolean => write(filled(chunk), ...rest);
    const writeHead = response.writeHead.bind(response) as (status: number, headers?: OutgoingHttpHeaders) => ServerResponse;
    response.writeHead = (status: number, headers?: unknown): ServerResponse => writeHead(status, withoutLength(headers));
    response.once("close", () => this.take(id));
  }
}

function isListRequest(message: unknown): message is { readonly id: RequestId } {
  return isRequestOf(message, "tools/list");
}

/** The length was that of the answer without its list. */
function withoutLength(headers: unknown): OutgoingHttpHeaders {
  const given = (headers ?? {}) as OutgoingHttpHeaders;
  return Object.fromEntries(Object.entries(given).filter(([name]) => name.toLowerCase() !== "content-length"));
}

function complete(answer: Uint8Array, list: Buffer): readonly Buffer[] {
  const whole = Buffer.from(answer.buffer, answer.byteOffset, answer.length);
  const at = whole.indexOf(LEFT_OUT_BYTES);
  if (at < 0) return [whole];
  return [whole.subarray(0, at + LEFT_OUT.length - 2), list, whole.subarray(at + LEFT_OUT.length)];
}
