import { StringDecoder } from "node:string_decoder";
import { GrowingBuffer } from "../text/growing-buffer.ts";

/**
 * Keeps the beginning and the end of a stream in bounded memory, because a model needs both.
 * The text is valid UTF-8, and no character is split at the cut.
 */
export class OutputWindow {
  readonly #headBytes: number;
  readonly #tailBytes: number;
  readonly #head = new GrowingBuffer();
  #tail: Buffer[] = [];
  #tailSize = 0;
  #total = 0;

  constructor(maxBytes: number) {
    this.#headBytes = Math.ceil(maxBytes / 2);
    this.#tailBytes = Math.floor(maxBytes / 2);
  }

  get truncated(): boolean {
    return this.#total > this.#headBytes + this.#tailBytes;
  }

  /** Bytes of the whole stream so far, kept or not. */
  get total(): number {
    return this.#total;
  }

  push(chunk: Buffer): void {
    this.#total += chunk.length;
    const room = this.#headBytes - this.#head.length;
    this.#head.push(chunk.subarray(0, room));
    if (chunk.length > room) this.#pushTail(chunk.subarray(room));
  }

  /** Returns the kept text. A cut is marked on a line of its own. */
  text(): string {
    const kept = Buffer.concat([this.#head.view(), this.#lastBytes()]);
    return this.truncated
      ? cutMiddle(kept, { total: this.#total, bytes: kept.length, lines: Number.POSITIVE_INFINITY }).text
      : kept.toString("utf8");
  }

  #pushTail(chunk: Buffer): void {
    const last = Buffer.from(chunk.subarray(Math.max(0, chunk.length - this.#tailBytes)));
    this.#tail.push(last);
    this.#tailSize += last.length;
    // Joined only when twice as large as needed, so that the copies of each byte are bounded.
    if (this.#tailSize > 2 * this.#tailBytes || this.#tail.length > 1_024) {
      this.#tail = [this.#lastBytes()];
      this.#tailSize = this.#tail[0]?.length ?? 0;
    }
  }

  #lastBytes(): Buffer {
    const all = Buffer.concat(this.#tail);
    return Buffer.from(all.subarray(Math.max(0, all.length - this.#tailBytes)));
  }
}

export interface Excerpt {
  readonly text: string;
  /** What stands before the cut; all of a text that was not cut. */
  readonly head: string;
}

export interface Room {
  readonly bytes: number;
  readonly lines: number;
}

/** Both ends of a text that fit in the room, cut between lines unless a line is very long. */
export function excerpt(text: string, { bytes, lines }: Room): Excerpt {
  const kept = Buffer.from(text);
  if (kept.length <= bytes && countLines(text) <= lines) return { text, head: text };
  return cutMiddle(kept, { total: kept.length, bytes: Math.min(bytes, kept.length), lines });
}

/** A last line without its end counts too. */
export function countLines(text: string): number {
  return text.split("\n").length - (text.endsWith("\n") || text === "" ? 1 : 0);
}

function cutMiddle(kept: Buffer, { total, bytes, lines }: Room & { readonly total: number }): Excerpt {
  const [half, halfLines] = [bytes / 2, Math.floor(lines / 2)];
  const head = firstLines(endAtLine(kept.subarray(0, Math.ceil(half))), halfLines);
  const tail = lastLines(startAtLine(kept.subarray(kept.length - Math.floor(half))), halfLines);
  const cut = total - Buffer.byteLength(head) - Buffer.byteLength(tail);
  return { text: `${head}${head.endsWith("\n") ? "" : "\n"}[... ${Math.max(cut, 1)} bytes cut ...]\n${tail}`, head };
}

function firstLines(text: string, count: number): string {
  return countLines(text) <= count ? text : `${text.split("\n").slice(0, count).join("\n")}\n`;
}

function lastLines(text: string, count: number): string {
  const left = countLines(text) - count;
  return left <= 0 ? text : text.split("\n").slice(left).join("\n");
}

/** Both output streams, held for one call. */
export interface OutputWindows {
  readonly stdout: OutputWindow;
  readonly stderr: OutputWindow;
}

export function openOutputWindows(maxBytes: number): OutputWindows {
  return { stdout: new OutputWindow(maxBytes), stderr: new OutputWindow(maxBytes) };
}

const HELD_MAX_BYTES = 4 * 1_048_576;

/** Number of bytes of each stream that are held for a model. It is more than the model sees at once, so that it can read on. */
export function heldBytes({ maxOutputBytes }: { readonly maxOutputBytes: number }): number {
  return Math.min(maxOutputBytes, HELD_MAX_BYTES);
}

const LINE_FEED = 0x0a;

/** Removes the cut line at the end, unless it is more than half of the bytes. Never ends with a part of a character. */
function endAtLine(bytes: Buffer): string {
  const end = bytes.lastIndexOf(LINE_FEED) + 1;
  return end * 2 > bytes.length ? bytes.toString("utf8", 0, end) : new StringDecoder("utf8").write(bytes);
}

function startAtLine(bytes: Buffer): string {
  const start = bytes.indexOf(LINE_FEED) + 1;
  if (start > 0 && start * 2 < bytes.length) return bytes.toString("utf8", start);
  let character = 0;
  while (character < 3 && ((bytes[character] ?? 0) & 0xc0) === 0x80) character += 1;
  return bytes.toString("utf8", character);
}
