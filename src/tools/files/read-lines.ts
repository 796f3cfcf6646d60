export interface LineRange {
  /** From 1. */
  readonly startLine: number;
  readonly endLine: number;
  readonly maxBytes: number;
  /** Cut after a whole line where there is one; false: at the byte. */
  readonly wholeLines: boolean;
}

export interface LineSlice {
  readonly bytes: Buffer;
  /** The last line of which something is in `bytes`; one before `startLine` when nothing is. */
  readonly lastLine: number;
  /** More was wanted than `maxBytes`. */
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
    for (const piece of splitLines(chunk)) {
      const slice = collector.take(piece);
      if (slice) return slice;
    }
  }
  return collector.end();
}

/** The chunk's lines with their newlines; the last one may go on in the next chunk. */
function* splitLines(chunk: Buffer): Iterable<Buffer> {
  for (let at = 0; at < chunk.length;) {
    const newline = chunk.indexOf(NEWLINE, at);
    const end = newline < 0 ? chunk.length : newline + 1;
    yield chunk.subarray(at, end);
    at = end;
  }
}

class LineCollector {
  readonly #range: LineRange;
  readonly #parts: Buffer[] = [];
  #size = 0;
  #line = 1;
  #isLineOpen = false;

  constructor(range: LineRange) {
    this.#range = range;
  }

  /** Answers the slice once nothing more is wanted. */
  take(piece: Buffer): LineSlice | undefined {
    const { startLine, endLine, maxBytes } = this.#range;
    if (this.#line >= startLine) {
      this.#parts.push(piece.subarray(0, maxBytes - this.#size));
      this.#size += piece.length;
      if (this.#size > maxBytes) return cut(Buffer.concat(this.#parts), this.#range);
    }
    this.#isLineOpen = piece.at(-1) !== NEWLINE;
    if (!this.#isLineOpen) this.#line += 1;
    if (this.#line <= endLine) return undefined;
    return { bytes: Buffer.concat(this.#parts), lastLine: endLine, isCut: false, endsWithLine: true };
  }

  end(): LineSlice {
    const totalLines = this.#isLineOpen ? this.#line : this.#line - 1;
    const lastLine = Math.max(this.#range.startLine - 1, totalLines);
    return { bytes: Buffer.concat(this.#parts), lastLine, isCut: false, endsWithLine: !this.#isLineOpen, totalLines };
  }
}

function cut(bytes: Buffer, { startLine, wholeLines }: LineRange): LineSlice {
  const end = wholeLines ? bytes.lastIndexOf(NEWLINE) + 1 : 0;
  const kept = end > 0 ? bytes.subarray(0, end) : bytes;
  const newlines = kept.reduce((count, byte) => (byte === NEWLINE ? count + 1 : count), 0);
  return { bytes: kept, lastLine: startLine + Math.max(newlines, 1) - 1, isCut: true, endsWithLine: end > 0 };
}
