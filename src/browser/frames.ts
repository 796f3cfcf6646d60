/**
 * How messages lie on the channel between server and driver: a kind (1 byte), a length (4 bytes, the highest first), so many bytes. A picture
 * comes before the message that it belongs to. Without zod, for the driver has none.
 */
export const MESSAGE_MAX_BYTES = 1_048_576;
/** A value of a page as JSON, which goes as a text: escaped it may be larger, and then it does not fit a message. */
export const EVALUATE_MAX_BYTES = MESSAGE_MAX_BYTES - 65_536;
export const PICTURE_MAX_BYTES = 8 * 1_048_576;
const HEAD_BYTES = 5;
/** Chunks of an unfinished frame that are held before they are joined. */
const PARTS_MAX = 1_024;

export const FRAME_KIND = { message: 1, picture: 2 } as const;
export type FrameKind = keyof typeof FRAME_KIND;

const MAX_BYTES: Readonly<Record<FrameKind, number>> = { message: MESSAGE_MAX_BYTES, picture: PICTURE_MAX_BYTES };

export interface Frame {
  readonly kind: FrameKind;
  readonly bytes: Buffer;
}

/** What the other side sent is no frame, or a longer one than there may be. Nothing after it can be read. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

export function toFrame(kind: FrameKind, bytes: Buffer): Buffer {
  if (bytes.length > MAX_BYTES[kind]) throw new FrameError(`A ${kind} of ${bytes.length} bytes is longer than ${MAX_BYTES[kind]}`);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(FRAME_KIND[kind], 0);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** Cuts a channel into frames. It holds at most one unfinished frame. */
export class FrameReader {
  #held: Buffer[] = [];
  #heldBytes = 0;

  /** Throws `FrameError`. */
  *push(chunk: Buffer): Generator<Frame> {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    for (let need = this.#needed(); this.#heldBytes >= need; need = this.#needed()) yield this.#take(need);
    if (this.#held.length > PARTS_MAX) this.#joined();
  }

  /** Bytes of the frame that comes next, as far as they are known. */
  #needed(): number {
    if (this.#heldBytes < HEAD_BYTES) return HEAD_BYTES;
    const head = (this.#held[0]?.length ?? 0) >= HEAD_BYTES ? (this.#held[0] ?? Buffer.alloc(0)) : this.#joined();
    const length = head.readUInt32BE(1);
    const kind = kindOf(head);
    if (length > MAX_BYTES[kind]) throw new FrameError(`A ${kind} of ${length} bytes is longer than ${MAX_BYTES[kind]}`);
    return HEAD_BYTES + length;
  }

  #take(need: number): Frame {
    const all = this.#joined();
    this.#held = need < all.length ? [all.subarray(need)] : [];
    this.#heldBytes -= need;
    return { kind: kindOf(all), bytes: all.subarray(HEAD_BYTES, need) };
  }

  #joined(): Buffer {
    const all = this.#held.length === 1 ? this.#held[0] : undefined;
    const joined = all ?? Buffer.concat(this.#held);
    this.#held = [joined];
    return joined;
  }
}

function kindOf(head: Buffer): FrameKind {
  const kind = head[0];
  if (kind === FRAME_KIND.message) return "message";
  if (kind === FRAME_KIND.picture) return "picture";
  throw new FrameError(`There is no frame of kind ${kind}`);
}
