import { GrowingBuffer } from "../../text/growing-buffer.ts";

/** Records that are none of the program's own, after which nothing more of it is wanted. */
export const BROKEN_MAX = 1_000;

/** A part of a text by itself: what `slice` answers keeps the whole text in memory. */
export function copyPart(text: string, start: number, end: number): string {
  return Buffer.from(text.slice(start, end)).toString("utf8");
}

const BRACE = 0x7b;

/** The object that a record is as JSON; undefined for anything else. */
export function parseJson(record: Buffer): unknown {
  // A failure of the parser costs more than a look at the first byte.
  if (record[0] !== BRACE) return undefined;
  try {
    return JSON.parse(record.toString("utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * The records of a stream, without the byte that ends each; empty ones are left out. Undefined stands for one that is longer than
 * `maxBytes`; it is not kept.
 */
export async function* readRecords(
  content: AsyncIterable<Buffer>,
  { separator, maxBytes }: { readonly separator: number; readonly maxBytes: number },
): AsyncGenerator<Buffer | undefined, void, undefined> {
  const held = new GrowingBuffer();
  let size = 0;
  const end = (tail: Buffer): Buffer | undefined => {
    const isLong = size + tail.length > maxBytes;
    size = 0;
    if (isLong) held.clear();
    if (isLong) return undefined;
    if (held.length === 0) return tail;
    held.push(tail);
    return held.take();
  };
  for await (const chunk of content) {
    let start = 0;
    for (let at = chunk.indexOf(separator); at >= 0; at = chunk.indexOf(separator, start)) {
      if (size + at - start > 0) yield end(chunk.subarray(start, at));
      start = at + 1;
    }
    const rest = chunk.subarray(start);
    size += rest.length;
    if (size <= maxBytes) held.push(rest);
    else held.clear();
  }
  if (size > 0) yield end(Buffer.alloc(0));
}
