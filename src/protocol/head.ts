import { BelljarError } from "../errors.ts";
import { encodeFields, type Field, Fields, malformed } from "./fields.ts";
import { FIELDS_MAX_BYTES, HEAD_BYTES, VERSION } from "./wire.ts";

const MAGIC = 0x42_4a;

/** Encodes a whole request head into one buffer. Throws the errors of `encodeFields`. */
export function encodeHead(operation: number, fields: readonly Field[]): Buffer {
  const buffer = encodeFields(fields, HEAD_BYTES);
  buffer.writeUInt16BE(MAGIC, 0);
  buffer[2] = VERSION;
  buffer[3] = operation;
  buffer.writeUInt32BE(buffer.length - HEAD_BYTES, 4);
  return buffer;
}

export interface Head {
  readonly operation: number;
  readonly fields: Fields;
}

/** Collects a head from chunks; holds at most one head. */
export class HeadDecoder {
  #held: Buffer = Buffer.alloc(0);

  /** Returns the head and the bytes behind it once the head is complete. Throws `GUEST_PROTOCOL` or `GUEST_VERSION`. */
  push(chunk: Buffer): { readonly head: Head; readonly rest: Buffer } | undefined {
    this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const held = this.#held;
    if (held.length < HEAD_BYTES) return undefined;
    const size = HEAD_BYTES + fieldsLength(held);
    if (held.length < size) return undefined;
    const fields = Fields.parse(held.subarray(HEAD_BYTES, size));
    return { head: { operation: held[3] ?? 0, fields }, rest: held.subarray(size) };
  }
}

function fieldsLength(head: Buffer): number {
  if (head.readUInt16BE(0) !== MAGIC) throw malformed("no request head");
  if (head[2] !== VERSION)
    throw new BelljarError(
      "GUEST_VERSION",
      `The request has protocol version ${head[2]}, this side has version ${VERSION}: use the same release of Belljar on both sides`,
    );
  const length = head.readUInt32BE(4);
  if (length > FIELDS_MAX_BYTES) throw malformed(`a head of ${length} bytes`);
  return length;
}
