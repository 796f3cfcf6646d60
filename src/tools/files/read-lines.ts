import { GrowingBuffer } from "../../text/growing-buffer.ts";

export interface LineRange {
  /** From 1. */
  readonly startLine: number;
  readonly endLine: number;
  readonly maxBytes: number;
  /** Absent: as many as fit in `maxBytes`. */
  readonly maxLines?: number | undefined;
  /** Cut after a whole line where there is one; false: at the byte. */
  readonly wholeLines: boolean;
}

export interface LineSlice {
  readonly bytes: Buffer;
  /** The last line of which something is in `bytes`; one before `startLine` when nothing is. */
  readonly lastLine: number;
  /** More was wanted than `maxBytes` or `maxLines`. */
  readonly isCut: boolean;
  /** The cut lies between two lines; it does not when one line alone is longer than `maxBytes`. */
  readonly endsWithLine: boolean;
  /** Of the whole file, known when its end was reached. */
  readonly totalLines?: number;
}

const NEWLINE = 0x0a;

/** Takes lines from a stream in bounded memory, and leaves it (which destroys a `Readable`) as soon as it has them. */
export async function readLines(content: AsyncIterable<Buffer>, range: LineRange): Promise<LineSlice> {
  const collector = new LineCollector(range);
  for await (const chunk of content) {
    const slice = collector.take(chunk);
    if (slice) return firstLines(slice, range);
  }
  return firstLines(collector.end(), range);
}

function firstLines(slice: LineSlice, { startLine, maxLines = Number.POSITIVE_INFINITY }: LineRange): LineSlice {
  let end = 0;
  for (let line = 0; line < maxLines; line += 1) {
    end = slice.bytes.indexOf(NEWLINE, end) + 1;
    if (end === 0) return slice;
  }
  if (end === slice.bytes.length) return slice;
  return { bytes: slice.bytes.subarray(0, end), lastLine: startLine + maxLines - 1, isCut: true, endsWithLine: true };
}

class LineCollector {
  readonly #range: LineRange;
  readonly #kept = new GrowingBuffer();
  #line = 1;
  #isLineOpen = false;

  constructor(range: LineRange) {
    this.#range = range;
  }

  /** Answers the slice once nothing more is wanted. */
  take(chunk: Buffer): LineSlice | undefined {
    const { startLine, endLine, maxBytes } = this.#range;
    const start = this.#pass(chunk, 0, startLine);
    const end = this.#pass(chunk, start, endLine + 1);
    const room = maxBytes - this.#kept.length;
    this.#kept.push(chunk.subarray(start, Math.min(end, start + room)));
    if (end - start > room) return cut(this.#kept.take(), this.#range);
    if (this.#line <= endLine) return undefined;
    return { bytes: this.#kept.take(), lastLine: endLine, isCut: false, endsWithLine: true };
  }

  end(): LineSlice {
    const totalLines = this.#isLineOpen ? this.#line : this.#line - 1;
    const lastLine = Math.max(this.#range.startLine - 1, totalLines);
    return { bytes: this.#kept.take(), lastLine, isCut: false, endsWithLine: !this.#isLineOpen, totalLines };
  }

  /** Where that line starts in the chunk; its end when it starts later. */
  #pass(chunk: Buffer, from: number, line: number): number {
    let at = from;
    while (this.#line < line) {
      const newline = chunk.indexOf(NEWLINE, at);
      this.#isLineOpen = newline < 0 && (at < chunk.length || this.#isLineOpen);
      if (newline < 0) return chunk.length;
      this.#line += 1;
      at = newline + 1;
    }
    return at;
  }
}

function cut(bytes: Buffer, { startLine, wholeLines }: LineRange): LineSlice {
  const end = wholeLines ? bytes.lastIndexOf(NEWLINE) + 1 : 0;
  const kept = end > 0 ? bytes.subarray(0, end) : bytes;
  const newlines = kept.reduce((count, byte) => (byte === NEWLINE ? count + 1 : count), 0);
  return { bytes: kept, lastLine: startLine + Math.max(newlines, 1) - 1, isCut: true, endsWithLine: end > 0 };
}
