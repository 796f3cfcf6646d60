import type { Readable } from "node:stream";

export type FileKind = { readonly kind: "image"; readonly mimeType: string } | { readonly kind: "pdf" } | { readonly kind: "other" };

const IMAGES: readonly (readonly [mimeType: string, start: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF.{4}WEBP/s],
];
const HEAD_BYTES = 16;

/** By its first bytes, never by its name. */
export function detectKind(head: Buffer): FileKind {
  const start = head.toString("latin1", 0, HEAD_BYTES);
  if (start.startsWith("%PDF-")) return { kind: "pdf" };
  const image = IMAGES.find(([, pattern]) => pattern.test(start));
  return image ? { kind: "image", mimeType: image[0] } : { kind: "other" };
}

/** The stream's first bytes, and the whole of it again. Leaving the iteration of `all`, or `close`, destroys the stream. */
export async function peek(content: Readable): Promise<{ readonly head: Buffer; readonly all: AsyncIterable<Buffer>; close(): void }> {
  const chunks = (content as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const early: Buffer[] = [];
  let size = 0;
  while (size < HEAD_BYTES) {
    const next = await chunks.next();
    if (next.done) break;
    early.push(next.value);
    size += next.value.length;
  }
  async function* all(): AsyncGenerator<Buffer, void, undefined> {
    try {
      yield* early;
      for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
    } finally {
      content.destroy();
    }
  }
  return { head: Buffer.concat(early), all: all(), close: () => void content.destroy() };
}
