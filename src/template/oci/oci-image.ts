import type { ImageConfig } from "./image-config.ts";

/** An image for one platform. Disposing it closes what its layers are read from. */
export interface OciImage extends AsyncDisposable {
  /** The digest of its manifest. An archive of `docker save` may have none: then of its configuration. */
  readonly digest: string;
  readonly config: ImageConfig;
  /** Lowest first. */
  readonly layers: readonly ImageLayer[];
}

export interface ImageLayer {
  /** The digest of its bytes as they are stored. */
  readonly digest: string;
  /** The digest of its uncompressed bytes, which names its content. */
  readonly diffId: string;
  /** The number of bytes as they are stored. */
  readonly size: number;
  /**
   * Reads the uncompressed tar. It rejects, at the latest at its end, if size, digest or diffId differ from what was said: what was made of
   * the bytes until then must be thrown away. It never yields more than `maxBytes`: one byte more is `IMAGE_TOO_LARGE`. May be called again.
   */
  open(options: { readonly maxBytes: number }, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
