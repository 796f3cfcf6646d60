import { createHash, type Hash } from "node:crypto";
import { invalidImage } from "./image-error.ts";

const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

/** What a descriptor says of a blob's bytes. */
export interface BlobClaim {
  readonly digest: string;
  readonly size: number;
}

/** Returns true for a digest by sha256 or sha512. Others are refused: they prove too little, or nobody makes them. */
export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

/** The two parts of a valid digest. */
export function digestParts(digest: string): { readonly algorithm: string; readonly hex: string } {
  const [algorithm = "", hex = ""] = digest.split(":");
  return { algorithm, hex };
}

export function digestOf(bytes: Uint8Array, algorithm = "sha256"): string {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
}

/** Passes bytes on, and rejects at their end unless they have this digest. */
export async function* checkDigest(bytes: AsyncIterable<Uint8Array>, digest: string, what: string): AsyncGenerator<Uint8Array> {
  const { algorithm } = digestParts(digest);
  const hash: Hash = createHash(algorithm);
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
  const found = `${algorithm}:${hash.digest("hex")}`;
  if (found !== digest) throw invalidImage(`${what} should have the digest ${digest}, and has ${found}`);
}

/** Passes bytes on. Rejects as soon as there are more than `size`, and at the end if there are fewer or their digest is another one. */
export async function* checkBlob(bytes: AsyncIterable<Uint8Array>, { digest, size }: BlobClaim): AsyncGenerator<Uint8Array> {
  yield* checkDigest(checkSize(bytes, { digest, size }), digest, "a blob");
}

/** Passes bytes on. Rejects as soon as there are more than `size`, and at the end if there are fewer. */
export async function* checkSize(bytes: AsyncIterable<Uint8Array>, { digest, size }: BlobClaim): AsyncGenerator<Uint8Array> {
  let seen = 0;
  for await (const chunk of bytes) {
    seen += chunk.length;
    if (seen > size) throw invalidImage(`the blob ${digest} has more than the ${size} bytes that its descriptor says`);
    yield chunk;
  }
  if (seen < size) throw invalidImage(`the blob ${digest} has ${seen} bytes, and its descriptor says ${size}`);
}

/** Reads all bytes into memory. Rejects as soon as there are more than `maxBytes`. */
export async function readAtMost(bytes: AsyncIterable<Uint8Array>, maxBytes: number, what: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    length += chunk.length;
    if (length > maxBytes) throw invalidImage(`${what} is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
