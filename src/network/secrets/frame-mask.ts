import type { Transform } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { EchoMask } from "./echo-mask.ts";
import type { EchoScanner } from "./echo-scanner.ts";
import { createSlicedTransform } from "./sliced-transform.ts";

/** What goes on in order: bytes that are ready, or so many that the message's mask still has. */
type Piece = Buffer | number;

interface Frame {
  readonly headBytes: number;
  readonly length: number;
  readonly isControl: boolean;
  readonly isLast: boolean;
}

const CONTINUATION = 0;
const FIRST_CONTROL = 8;
/** Fragments that wait for what is held back before them. */
const PIECES_MAX = 1024;

/**
 * Takes values out of what a WebSocket server says, also when it cuts a message into frames. Every frame keeps its length, so that heads
 * stay true. Breaks when the bytes are no frames, or are masked or compressed: then nothing could be found in them.
 */
export function createFrameMaskStream(scanner: EchoScanner): Transform {
  const frames = new FrameMask(scanner);
  return createSlicedTransform({ push: (piece) => frames.push(piece) });
}

class FrameMask {
  readonly #scanner: EchoScanner;
  #message: EchoMask;
  /** Of a head, or of a control frame, that is not whole yet. */
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

  /** How many bytes were used; 0 when more have to come. */
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

  /** A value that one message begins does not go on in the next one. */
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

/** RFC 6455, section 5.2; undefined until it is whole. */
function readHead(bytes: Buffer): Frame | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  if ((first & 0x70) !== 0) throw unreadable("compresses what it says though nobody offered to read that");
  if ((second & 0x80) !== 0) throw unreadable("masks its frames");
  const code = first & 0x0f;
  const isControl = code >= FIRST_CONTROL;
  if (isControl ? code > 10 || (first & 0x80) === 0 || second > 125 : code > 2 && code !== CONTINUATION)
    throw unreadable("sends what is no frame");
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
