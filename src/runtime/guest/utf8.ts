import { StringDecoder } from "node:string_decoder";

/** Decodes chunks of UTF-8 to text; a character that is split between chunks comes whole with the later one. */
export function createUtf8Decoder(): { write(chunk: Uint8Array): string; end(): string } {
  const decoder = new StringDecoder("utf8");
  return { write: (chunk) => decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)), end: () => decoder.end() };
}

/** The text of a byte stream, in pieces that never split a character. */
export async function* readUtf8(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = createUtf8Decoder();
  for await (const chunk of stream) {
    const text = decoder.write(chunk);
    if (text) yield text;
  }
  const rest = decoder.end();
  if (rest) yield rest;
}

/** Without the first bytes of a character that the end cuts; bytes that are no UTF-8 at all are left as they are. */
export function trimCutCharacter(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return characterLength(byte) > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

function characterLength(first: number): number {
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc0 ? 2 : 1;
}
