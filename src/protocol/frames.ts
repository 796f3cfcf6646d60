import { malformed } from "./fields.ts";
import { FRAME, FRAME_HEADER_BYTES, PAYLOAD_MAX_BYTES } from "./wire.ts";

export const EXIT_BYTES = 36;
const ERROR_HEADER_BYTES = 4;
/** If a chunk is more than so many times larger than a payload in it, the payload is copied. Small payloads keep no large chunk alive. */
const COPY_RATIO = 8;

/** Minimum and maximum length of a payload, by frame type. */
const LENGTHS: readonly (readonly [number, number] | undefined)[] = lengths();

function lengths(): (readonly [number, number] | undefined)[] {
  const table: (readonly [number, number] | undefined)[] = [];
  for (const type of Object.values(FRAME)) table[type] = [0, PAYLOAD_MAX_BYTES];
  table[FRAME.END] = [0, 0];
  table[FRAME.CREDIT] = [4, 4];
  table[FRAME.SIGNAL] = [4, 4];
  table[FRAME.RESIZE] = [4, 4];
  table[FRAME.EXIT] = [EXIT_BYTES, EXIT_BYTES];
  table[FRAME.ERROR] = [ERROR_HEADER_BYTES, PAYLOAD_MAX_BYTES];
  return table;
}

/** Encodes the 8 bytes before a payload. The caller keeps `length` within `PAYLOAD_MAX_BYTES`. */
export function encodeFrameHeader(type: number, channel: number, length: number, reserve = 0): Buffer {
  const buffer = Buffer.allocUnsafe(FRAME_HEADER_BYTES + reserve);
  buffer.writeUInt32BE(((type << 24) | (channel << 16)) >>> 0, 0);
  buffer.writeUInt32BE(length, 4);
  return buffer;
}

/** Encodes a whole frame into one buffer. `payload` is copied. */
export function encodeFrame(type: number, channel: number, payload?: Uint8Array): Buffer {
  const length = payload?.length ?? 0;
  const buffer = encodeFrameHeader(type, channel, length, length);
  if (payload) buffer.set(payload, FRAME_HEADER_BYTES);
  return buffer;
}

/** CREDIT and SIGNAL carry one number. */
export function encodeNumberFrame(type: number, channel: number, value: number): Buffer {
  const buffer = encodeFrameHeader(type, channel, 4, 4);
  buffer.writeUInt32BE(value, FRAME_HEADER_BYTES);
  return buffer;
}

export function encodeResize(rows: number, cols: number): Buffer {
  return encodeNumberFrame(FRAME.RESIZE, 0, ((rows << 16) | cols) >>> 0);
}

export type FrameSink = (type: number, channel: number, payload: Buffer) => void;

/**
 * Cuts chunks into frames and hands each frame to `sink`. DATA frames are handed on as they come, in one or more parts; all others are
 * handed on whole. The decoder holds at most one frame. Payloads may be views of a chunk.
 */
export class FrameDecoder {
  readonly #sink: FrameSink;
  readonly #header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
  #headerFill = 0;
  #payload: Buffer | undefined;
  #payloadFill = 0;
  /** Bytes of a DATA frame that are still to come. */
  #dataLeft = 0;
  #stopped = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Hands out no more frames, not even from the chunk that `push` is working on. */
  stop(): void {
    this.#stopped = true;
  }

  /** True between the first and the last byte of a frame. A stream that ends here was cut off. */
  get isMidFrame(): boolean {
    return this.#headerFill > 0 || this.#dataLeft > 0;
  }

  /** Throws `GUEST_PROTOCOL` for an invalid header. The decoder cannot be used after that. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.#stopped) at = this.#step(chunk, at);
  }

  #step(chunk: Buffer, at: number): number {
    if (this.#dataLeft > 0) return this.#passData(chunk, at);
    if (this.#payload) return this.#fillPayload(chunk, at, this.#payload);
    if (this.#headerFill > 0 || chunk.length - at < FRAME_HEADER_BYTES) return this.#fillHeader(chunk, at);
    const length = checkedLength(chunk, at);
    const start = at + FRAME_HEADER_BYTES;
    if (chunk.length - start < length) return this.#fillHeader(chunk, at);
    this.#sink(chunk[at] ?? 0, chunk[at + 1] ?? 0, viewOf(chunk, start, length));
    return start + length;
  }

  #passData(chunk: Buffer, at: number): number {
    const length = Math.min(this.#dataLeft, chunk.length - at);
    this.#dataLeft -= length;
    this.#sink(FRAME.DATA, this.#header[1] ?? 0, viewOf(chunk, at, length));
    return at + length;
  }

  #fillHeader(chunk: Buffer, at: number): number {
    const taken = chunk.copy(this.#header, this.#headerFill, at);
    this.#headerFill += taken;
    if (this.#headerFill === FRAME_HEADER_BYTES) this.#startPayload(checkedLength(this.#header, 0));
    return at + taken;
  }

  #startPayload(length: number): void {
    if (this.#header[0] === FRAME.DATA && length > 0) {
      this.#headerFill = 0;
      this.#dataLeft = length;
      return;
    }
    this.#payload = Buffer.allocUnsafe(length);
    this.#payloadFill = 0;
    if (length === 0) this.#emit(this.#payload);
  }

  #fillPayload(chunk: Buffer, at: number, payload: Buffer): number {
    const taken = chunk.copy(payload, this.#payloadFill, at);
    this.#payloadFill += taken;
    if (this.#payloadFill === payload.length) this.#emit(payload);
    return at + taken;
  }

  #emit(payload: Buffer): void {
    this.#headerFill = 0;
    this.#payload = undefined;
    this.#sink(this.#header[0] ?? 0, this.#header[1] ?? 0, payload);
  }
}

function viewOf(chunk: Buffer, start: number, length: number): Buffer {
  const view = chunk.subarray(start, start + length);
  return length * COPY_RATIO < chunk.length ? Buffer.from(view) : view;
}

function checkedLength(bytes: Buffer, at: number): number {
  const type = bytes[at] ?? 0;
  const range = LENGTHS[type];
  if (!range) throw malformed(`a frame of unknown type ${type}`);
  if (bytes[at + 2] !== 0 || bytes[at + 3] !== 0) throw malformed("a frame header with reserved bits");
  const length = bytes.readUInt32BE(at + 4);
  if (length < range[0] || length > range[1]) throw malformed(`a frame of type ${type} with ${length} bytes`);
  return length;
}
