import { createReadStream } from "node:fs";
import { LINE_MAX_BYTES } from "./audit-line.ts";

const NEWLINE = 0x0a;

/** Some lines of a file, without their newlines. */
export interface LineBatch {
  readonly lines: readonly Uint8Array[];
  /** The file ends within a line, or has one that is longer than any of an audit. Then this is the last batch. */
  readonly isTorn: boolean;
}

/** The lines of a file as bytes, in a bounded memory however long the file and its lines are. Nothing but a newline ends a line. */
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

/** Each of them ends with a newline. */
export function splitLines(bytes: Uint8Array): readonly Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, start);
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return lines;
}
