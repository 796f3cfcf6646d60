import { BelljarError } from "../../errors.ts";
import { type BlobClaim, checkBlob, checkDigest, checkSize } from "./digest.ts";
import { decompress } from "./decompress.ts";
import type { Compression } from "./media-types.ts";
import type { ImageLayer } from "./oci-image.ts";

export interface LayerBytes extends BlobClaim {
  readonly diffId: string;
  readonly compression: Compression;
  /** Opens the bytes as they are stored. They are checked here. */
  readonly open: (signal: AbortSignal) => AsyncIterable<Uint8Array>;
}

/** A layer whose bytes are checked while they are read, before and after they are uncompressed. */
export function createLayer({ digest, size, diffId, compression, open }: LayerBytes): ImageLayer {
  return {
    digest,
    diffId,
    size,
    open({ maxBytes }, signal) {
      // If the stored bytes have no digest of their own, that of the uncompressed ones proves all.
      const stored = digest === diffId ? checkSize(open(signal), { digest, size }) : checkBlob(open(signal), { digest, size });
      return checkDigest(atMost(decompress(stored, compression), maxBytes, digest), diffId, "an uncompressed layer");
    },
  };
}

async function* atMost(bytes: AsyncIterable<Uint8Array>, maxBytes: number, digest: string): AsyncGenerator<Uint8Array> {
  let seen = 0;
  for await (const chunk of bytes) {
    seen += chunk.length;
    if (seen > maxBytes)
      throw new BelljarError(
        "IMAGE_TOO_LARGE",
        `The layer ${digest} has more than the ${maxBytes} bytes that are left for it, uncompressed`,
      );
    yield chunk;
  }
}
