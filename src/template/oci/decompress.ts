import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { errnoOf } from "../../files/file-error.ts";
import { invalidImage } from "./image-error.ts";
import type { Compression } from "./media-types.ts";
import { decompressZstd } from "./zstd.ts";

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const CHUNK_BYTES = 262_144;

/** Rejects with `IMAGE_INVALID` if the bytes are not of this compression. It reads them all, whatever follows the last of its members. */
export function decompress(bytes: AsyncIterable<Uint8Array>, compression: Compression): AsyncIterable<Uint8Array> {
  if (compression === "none") return bytes;
  return compression === "gzip" ? gunzip(bytes) : decompressZstd(bytes);
}

/** The compression of bytes that nothing describes, by how they begin. */
export function detectCompression(head: Uint8Array): Compression {
  const begins = (magic: Buffer): boolean => magic.equals(head.subarray(0, magic.length));
  if (begins(GZIP_MAGIC)) return "gzip";
  return begins(ZSTD_MAGIC) ? "zstd" : "none";
}

async function* gunzip(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const stream = createGunzip({ chunkSize: CHUNK_BYTES });
  const fed = pipeline(bytes, stream);
  fed.catch(() => {});
  try {
    for await (const chunk of stream) yield chunk as Buffer;
    await fed;
  } catch (cause) {
    throw errnoOf(cause)?.startsWith("Z_") ? invalidImage("one of its layers is not valid gzip", cause) : cause;
  } finally {
    stream.destroy();
  }
}
