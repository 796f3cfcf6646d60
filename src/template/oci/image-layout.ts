import { join } from "node:path";
import { digestParts, readAtMost } from "./digest.ts";
import type { ImageSource } from "./image-source.ts";
import { loadImage } from "./load-image.ts";
import { firstOfLayout } from "./layout-index.ts";
import { MANIFEST_MAX_BYTES } from "./manifest.ts";
import { type Extent, openImageFile, readExtent } from "./open-image-file.ts";
import type { OciImage } from "./oci-image.ts";
import type { Platform } from "./platform.ts";

export interface OpenImageOptions {
  /** Which of several images: its name, as `nginx:1.27`, or its tag. */
  readonly name?: string;
  /** Default: this machine's. */
  readonly platform?: Platform;
}

/** Opens an image in a folder by the OCI image layout. Blobs are read when layers are opened, and checked each time. */
export async function openImageLayout(folder: string, { name, platform }: OpenImageOptions, signal: AbortSignal): Promise<OciImage> {
  const source = layoutSource(folder);
  const [layout, index] = await Promise.all(["oci-layout", "index.json"].map((file) => readSmall(join(folder, file), signal)));
  const first = await firstOfLayout(source, { layout, index, name }, signal);
  return loadImage({ source, first, platform }, signal);
}

function layoutSource(folder: string): ImageSource & AsyncDisposable {
  const openBlob: ImageSource["openBlob"] = ({ digest }, signal) => {
    const { algorithm, hex } = digestParts(digest);
    return readFile(join(folder, "blobs", algorithm, hex), signal);
  };
  return { name: folder, openManifest: openBlob, openBlob, [Symbol.asyncDispose]: async () => undefined };
}

async function* readFile(path: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const { handle, size } = await openImageFile(path);
  try {
    const whole: Extent = { offset: 0, size };
    yield* readExtent(handle, whole, signal);
  } finally {
    await handle.close();
  }
}

function readSmall(path: string, signal: AbortSignal): Promise<Buffer> {
  return readAtMost(readFile(path, signal), MANIFEST_MAX_BYTES, "its index");
}
