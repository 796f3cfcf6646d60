import type { Readable } from "node:stream";

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

/** Takes lines from a stream in bounded memory, and destroys it as soon as it has them. */
export async function readLines(content: Readable, range: LineRange): Promise<LineSlice> {
  const { startLine, endLine, maxBytes } = range;
  const parts: Buffer[] = [];
  let size = 0;
  let line = 1;
  let isLineOpen = false;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length; ) {
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline < 0 ? chunk.length : newline + 1;
      if (line >= startLine) {
        parts.push(chunk.subarray(at, Math.min(end, at + maxBytes - size)));
        if (size + end - at > maxBytes) return cut(Buffer.concat(parts), range);
        size += end - at;
      }
      isLineOpen = newline < 0;
      if (newline >= 0) line += 1;
      at = end;
      if (line > endLine) return { bytes: Buffer.concat(parts), lastLine: endLine, isCut: false, endsWithLine: true };
    }
  }
  const totalLines = isLineOpen ? line : line - 1;
  return { bytes: Buffer.concat(parts), lastLine: Math.max(startLine - 1, totalLines), isCut: false, endsWithLine: !isLineOpen, totalLines };
}

function cut(bytes: Buffer, { startLine, wholeLines }: LineRange): LineSlice {
  const end = wholeLines ? bytes.lastIndexOf(NEWLINE) + 1 : 0;
  const kept = end > 0 ? bytes.subarray(0, end) : bytes;
  const newlines = kept.reduce((count, byte) => (byte === NEWLINE ? count + 1 : count), 0);
  return { bytes: kept, lastLine: startLine + Math.max(newlines, 1) - 1, isCut: true, endsWithLine: end > 0 };
}
