import type { Transform } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { EchoMask } from "./echo-mask.ts";
import type { EchoScanner } from "./echo-scanner.ts";
import { createSlicedTransform } from "./sliced-transform.ts";

/** A piece of output, in order: bytes that are ready, or the number of bytes that the message's mask still holds. */
type Piece = Buffer | number;

interface Frame {
  readonly headBytes: number;
  readonly length: number;
  readonly isControl: boolean;
  readonly isLast: boolean;
}

const CONTINUATION = 0;
const FIRST_CONTROL = 8;
/** Maximum number of pieces that wait for bytes that are held back. */
const PIECES_MAX = 1024;

/**
 * Masks values in the frames of a WebSocket server, even if a message is split into several frames. Every frame keeps its length, so that
 * its head stays valid. The stream breaks if the bytes are no frames, or are masked or compressed, because values cannot be found then.
 */
export function createFrameMaskStream(scanner: EchoScanner): Transform {
  const frames = new FrameMask(scanner);
  return createSlicedTransform({ push: (piece) => frames.push(piece) });
}

class FrameMask {
  readonly #scanner: EchoScanner;
  #message: EchoMask;
  /** Bytes of an incomplete head or control frame. */
  #unread: Buffer = Buffer.alloc(0);
  #frame: Frame | undefined;
  #left = 0;
  #pieces: Piece[] = [];
  #masked: Buffer = Buffer.alloc(0);

  constructor(scanner: EchoScanner) {
    this.#scanner = scanner;
    this.#message = new EchoMask(scanner, { keepsLength: true });
  }

  push(chunk: Buffer): Buffer {
    let bytes = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    const parts: Buffer[] = [];
    for (let used = this.#take(bytes); used > 0; used = this.#take(bytes)) {
      bytes = bytes.subarray(used);
      parts.push(...this.#drain());
    }
    this.#unread = Buffer.from(bytes);
    return Buffer.concat(parts);
  }

  /** Returns the number of used bytes, or 0 if more are needed. */
  #take(bytes: Buffer): number {
    if (this.#frame) return this.#takeContent(this.#frame, bytes);
    const frame = readHead(bytes);
    if (!frame || (frame.isControl && bytes.length < frame.headBytes + frame.length)) return 0;
    this.#add(Buffer.from(bytes.subarray(0, frame.headBytes)));
    if (frame.isControl) return frame.headBytes + this.#takeControl(bytes.subarray(frame.headBytes, frame.headBytes + frame.length));
    this.#add(frame.length);
    [this.#frame, this.#left] = [frame, frame.length];
    if (frame.length === 0) this.#finish(frame);
    return frame.headBytes;
  }

  #takeControl(content: Buffer): number {
    const mask = new EchoMask(this.#scanner, { keepsLength: true });
    this.#add(Buffer.concat([mask.push(content), mask.end()]));
    return content.length;
  }

  #takeContent(frame: Frame, bytes: Buffer): number {
    const content = bytes.subarray(0, this.#left);
    this.#left -= content.length;
    this.#mask(this.#message.push(content));
    if (this.#left === 0) this.#finish(frame);
    return content.length;
  }

  /** Values do not span messages, so each message gets a new mask. */
  #finish({ isLast }: Frame): void {
    this.#frame = undefined;
    if (!isLast) return;
    this.#mask(this.#message.end());
    this.#message = new EchoMask(this.#scanner, { keepsLength: true });
  }

  #mask(bytes: Buffer): void {
    this.#masked = Buffer.concat([this.#masked, bytes]);
  }

  #add(piece: Piece): void {
    if (this.#pieces.push(piece) > PIECES_MAX) throw unreadable("cuts a message into too many frames");
  }

  #drain(): readonly Buffer[] {
    const parts: Buffer[] = [];
    for (let piece = this.#pieces[0]; piece !== undefined; piece = this.#pieces[0]) {
      if (typeof piece !== "number") parts.push(piece);
      else {
        const part = this.#masked.subarray(0, piece);
        this.#masked = this.#masked.subarray(part.length);
        parts.push(part);
        if (part.length < piece) {
          this.#pieces[0] = piece - part.length;
          break;
        }
      }
      this.#pieces.shift();
    }
    return parts;
  }
}

/** Reads a head (RFC 6455, section 5.2). Returns undefined until it is complete. */
function readHead(bytes: Buffer): Frame | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  if ((first & 0x70) !== 0) throw unreadable("compresses its messages, although compression was not offered");
  if ((second & 0x80) !== 0) throw unreadable("masks its frames");
  const code = first & 0x0f;
  const isControl = code >= FIRST_CONTROL;
  if (isControl ? code > 10 || (first & 0x80) === 0 || second > 125 : code > 2 && code !== CONTINUATION)
    throw unreadable("sends invalid frames");
  const extra = second === 126 ? 2 : second === 127 ? 8 : 0;
  if (bytes.length < 2 + extra) return undefined;
  const length = extra === 0 ? second : extra === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (!Number.isSafeInteger(length)) throw unreadable("announces a frame that has no end");
  return { headBytes: 2 + extra, length, isControl, isLast: (first & 0x80) !== 0 };
}

function unreadable(what: string): BelljarError {
  return new BelljarError(
    "NOT_SUPPORTED",
    `The server of a WebSocket ${what}, so a secret in it could not be found: the connection is closed`,
  );
}
