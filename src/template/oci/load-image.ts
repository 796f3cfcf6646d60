import { findManifest, type FirstDocument } from "./find-manifest.ts";
import { invalidImage } from "./image-error.ts";
import { createLayer } from "./image-layer.ts";
import type { ImageSource } from "./image-source.ts";
import type { Descriptor } from "./manifest.ts";
import { LAYER_TYPES } from "./media-types.ts";
import type { ImageLayer, OciImage } from "./oci-image.ts";
import { hostPlatform, type Platform } from "./platform.ts";

export interface LoadRequest {
  readonly source: ImageSource & AsyncDisposable;
  readonly first: FirstDocument;
  /** Default: this machine's. */
  readonly platform?: Platform | undefined;
}

/** Makes the image of what a manifest or an index says. The image owns the source from now on. */
export async function loadImage({ source, first, platform }: LoadRequest, signal: AbortSignal): Promise<OciImage> {
  const { digest, manifest, config } = await findManifest(source, { first, wanted: platform ?? hostPlatform() }, signal);
  const layers = manifest.layers.map((layer, index) => toLayer(source, layer, config.diffIds[index]));
  return { digest, config, layers, [Symbol.asyncDispose]: () => source[Symbol.asyncDispose]() };
}

function toLayer(source: ImageSource, layer: Descriptor, diffId: string | undefined): ImageLayer {
  const compression = LAYER_TYPES.get(layer.mediaType);
  if (compression === undefined || diffId === undefined) throw invalidImage("one of its layers is not described");
  return createLayer({ ...layer, diffId, compression, open: (signal) => source.openBlob(layer, signal) });
}
