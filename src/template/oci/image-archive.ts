import { digestParts, readAtMost } from "./digest.ts";
import { loadDockerArchive } from "./docker-archive.ts";
import { invalidImage } from "./image-error.ts";
import type { OpenImageOptions } from "./image-layout.ts";
import type { ImageSource } from "./image-source.ts";
import { firstOfLayout } from "./layout-index.ts";
import { loadImage } from "./load-image.ts";
import { MANIFEST_MAX_BYTES } from "./manifest.ts";
import type { OciImage } from "./oci-image.ts";
import { type OpenArchive, openArchive, type Scratch } from "./open-archive.ts";

/** Opens an image in a tar: an OCI layout, or as `docker save` writes it. The tar may be compressed as a whole, by gzip or zstd. */
export async function openImageArchive(path: string, options: OpenImageOptions & Scratch, signal: AbortSignal): Promise<OciImage> {
  const archive = await openArchive(path, options, signal);
  try {
    return await load(archive, options, signal);
  } catch (error) {
    await archive[Symbol.asyncDispose]();
    throw error;
  }
}

async function load(archive: OpenArchive, { name, platform }: OpenImageOptions, signal: AbortSignal): Promise<OciImage> {
  const small = async (file: string): Promise<Buffer | undefined> =>
    archive.index.find(file) && (await readAtMost(archive.read(file, signal), MANIFEST_MAX_BYTES, file));
  const layout = await small("oci-layout");
  if (!layout) {
    const manifest = await small("manifest.json");
    if (!manifest) throw invalidImage("its archive has neither an OCI layout nor a manifest.json of `docker save`");
    return await loadDockerArchive(archive, { manifest, name, platform }, signal);
  }
  const source = archiveSource(archive);
  const first = await firstOfLayout(source, { layout, index: await small("index.json"), name }, signal);
  return await loadImage({ source, first, platform }, signal);
}

function archiveSource(archive: OpenArchive): ImageSource & AsyncDisposable {
  const openBlob: ImageSource["openBlob"] = ({ digest }, signal) => {
    const { algorithm, hex } = digestParts(digest);
    return archive.read(`blobs/${algorithm}/${hex}`, signal);
  };
  return { name: archive.name, openManifest: openBlob, openBlob, [Symbol.asyncDispose]: () => archive[Symbol.asyncDispose]() };
}
