/**
 * How messages lie on the channel between server and driver: a kind (1 byte), a length (4 bytes, the highest first), so many bytes. A picture
 * comes before the message that it belongs to. Without zod, for the driver has none.
 */
export const MESSAGE_MAX_BYTES = 1_048_576;
/** What one answer may hold, as it is sent: its message has an envelope, and an address of the page. */
export const ANSWER_MAX_BYTES = MESSAGE_MAX_BYTES - 65_536;
export const PICTURE_MAX_BYTES = 8 * 1_048_576;
const HEAD_BYTES = 5;

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

/** Cuts a channel into frames. It holds at most one unfinished frame, and copies each byte once, however small the chunks are. */
export class FrameReader {
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  /** Of the frame whose head is whole. */
  #body: Buffer | undefined;
  #bodyBytes = 0;

  /** Throws `FrameError`. The bytes of a frame are its own: they keep no chunk. */
  *push(chunk: Buffer): Generator<Frame> {
    for (let at = 0; at < chunk.length;) {
      at += this.#takeHead(chunk, at);
      at += this.#takeBody(chunk, at);
      const frame = this.#finished();
      if (frame) yield frame;
    }
  }

  /** Both say how many bytes they took. */
  #takeHead(chunk: Buffer, at: number): number {
    if (this.#body) return 0;
    const taken = chunk.copy(this.#head, this.#headBytes, at);
    this.#headBytes += taken;
    if (this.#headBytes < HEAD_BYTES) return taken;
    const length = this.#head.readUInt32BE(1);
    const kind = kindOf(this.#head);
    if (length > MAX_BYTES[kind]) throw new FrameError(`A ${kind} of ${length} bytes is longer than ${MAX_BYTES[kind]}`);
    this.#body = Buffer.allocUnsafeSlow(length);
    return taken;
  }

  #takeBody(chunk: Buffer, at: number): number {
    const taken = this.#body ? chunk.copy(this.#body, this.#bodyBytes, at) : 0;
    this.#bodyBytes += taken;
    return taken;
  }

  #finished(): Frame | undefined {
    const bytes = this.#body;
    if (!bytes || this.#bodyBytes < bytes.length) return undefined;
    this.#body = undefined;
    this.#headBytes = 0;
    this.#bodyBytes = 0;
    return { kind: kindOf(this.#head), bytes };
  }
}

function kindOf(head: Buffer): FrameKind {
  const kind = head[0];
  if (kind === FRAME_KIND.message) return "message";
  if (kind === FRAME_KIND.picture) return "picture";
  throw new FrameError(`There is no frame of kind ${kind}`);
}
