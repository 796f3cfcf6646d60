import { createReadStream } from "node:fs";
import { LINE_MAX_BYTES } from "./audit-line.ts";

const NEWLINE = 0x0a;

/** Consecutive lines of a file, without their newlines. */
export interface LineBatch {
  readonly lines: readonly Uint8Array[];
  /** True if the file ends within a line, or has a line that is too long for an audit. This batch is then the last. */
  readonly isTorn: boolean;
}

/** Reads the lines of a file as bytes, in bounded memory for any file. Only a newline ends a line. */
export async function* readLines(path: string): AsyncGenerator<LineBatch> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    rest = bytes.subarray(end);
    const isTooLong = rest.length > LINE_MAX_BYTES;
    yield { lines: splitLines(bytes.subarray(0, end)), isTorn: isTooLong };
    if (isTooLong) return;
  }
  if (rest.length > 0) yield { lines: [], isTorn: true };
}

/** Splits bytes that end with a newline. */
export function splitLines(bytes: Uint8Array): readonly Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, start);
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return lines;
}
