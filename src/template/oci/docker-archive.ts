import { z } from "zod";
import { BelljarError } from "../../errors.ts";
import { detectCompression } from "./decompress.ts";
import { digestOf, readAtMost } from "./digest.ts";
import type { OpenArchive } from "./open-archive.ts";
import { CONFIG_MAX_BYTES, parseImageConfig } from "./image-config.ts";
import { invalidImage, shown } from "./image-error.ts";
import { createLayer } from "./image-layer.ts";
import { missing } from "./layout-index.ts";
import { parseBy } from "./manifest.ts";
import type { ImageLayer, OciImage } from "./oci-image.ts";
import { hostPlatform, type Platform, runs, writePlatform } from "./platform.ts";

const Name = z.string().max(4_096);
const SavedSchema = z
  .array(z.object({ Config: Name, RepoTags: z.array(Name).nullish(), Layers: z.array(Name).max(512).nullish() }))
  .min(1)
  .max(1_000);
type SavedImage = z.infer<typeof SavedSchema>[number];

const CONFIG_NAME = /(?:^|\/)(?<hex>[0-9a-f]{64})(?:\.json)?$/;

export interface SavedFiles {
  /** The file `manifest.json`. */
  readonly manifest: Uint8Array;
  readonly name: string | undefined;
  readonly platform: Platform | undefined;
}

/**
 * Loads what `docker save` wrote before it wrote layouts. It names no digests of its layers: their content is known by the configuration,
 * whose digest is the image's id, and which has the digest of each uncompressed layer.
 */
export async function loadDockerArchive(
  archive: OpenArchive,
  { manifest, name, platform }: SavedFiles,
  signal: AbortSignal,
): Promise<OciImage> {
  const saved = choose(parseBy(SavedSchema, manifest, "manifest.json"), name);
  const files = saved.Layers ?? [];
  const bytes = await readAtMost(archive.read(saved.Config, signal), CONFIG_MAX_BYTES, "the configuration");
  const config = parseImageConfig(bytes, files.length);
  const digest = digestOf(bytes);
  const named = CONFIG_NAME.exec(saved.Config)?.groups?.["hex"];
  if (named !== undefined && `sha256:${named}` !== digest) throw invalidImage("its configuration has another digest than its name says");
  const wanted = platform ?? hostPlatform();
  if (!runs(wanted, config.platform))
    throw new BelljarError(
      "IMAGE_NOT_FOUND",
      `${shown(archive.name)} has no image for ${writePlatform(wanted)}. It has: ${writePlatform(config.platform)}.`,
    );
  const layers = await Promise.all(files.map((file, index) => toLayer(archive, { file, diffId: config.diffIds[index] ?? "" }, signal)));
  return { digest, config, layers, [Symbol.asyncDispose]: () => archive[Symbol.asyncDispose]() };
}

function choose(images: readonly SavedImage[], name: string | undefined): SavedImage {
  const fitting = name === undefined ? images : images.filter(({ RepoTags }) => RepoTags?.includes(name));
  const [only] = fitting;
  if (only && fitting.length === 1) return only;
  const names = images.flatMap(({ RepoTags }) => RepoTags ?? []);
  throw missing(
    name === undefined ? "There are several images in it. Name one of them." : `There is no image "${shown(name)}" in it.`,
    names,
  );
}

async function toLayer(
  archive: OpenArchive,
  { file, diffId }: { readonly file: string; readonly diffId: string },
  signal: AbortSignal,
): Promise<ImageLayer> {
  const extent = archive.index.find(file);
  if (!extent) throw invalidImage(`its archive lacks the layer ${shown(file)}`);
  const compression = detectCompression(await firstBytes(archive.read(file, signal)));
  return createLayer({ digest: diffId, diffId, size: extent.size, compression, open: (when) => archive.read(file, when) });
}

async function firstBytes(bytes: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  for await (const chunk of bytes) return chunk;
  return new Uint8Array(0);
}
