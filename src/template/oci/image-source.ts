import type { BlobClaim } from "./digest.ts";

/** A place with the blobs of an image. What it yields is not checked: every reader checks it. */
export interface ImageSource {
  /** The place, for messages. */
  readonly name: string;
  openManifest(claim: BlobClaim, signal: AbortSignal): AsyncIterable<Uint8Array>;
  openBlob(claim: BlobClaim, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
