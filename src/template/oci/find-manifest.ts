import { BelljarError } from "../../errors.ts";
import { type BlobClaim, checkBlob, readAtMost } from "./digest.ts";
import { CONFIG_MAX_BYTES, type ImageConfig, parseImageConfig } from "./image-config.ts";
import { invalidImage, shown, unsupportedImage } from "./image-error.ts";
import type { ImageSource } from "./image-source.ts";
import { type Descriptor, type ImageDocument, type Index, type Manifest, MANIFEST_MAX_BYTES, parseDocument } from "./manifest.ts";
import { CONFIG_TYPES, INDEX_TYPES, MANIFEST_TYPES } from "./media-types.ts";
import { type Platform, runs, writePlatform } from "./platform.ts";

export interface FoundManifest {
  readonly digest: string;
  readonly manifest: Manifest;
  readonly config: ImageConfig;
}

/** An index within an index is rare, and one more level is unknown. */
const DEPTH_MAX = 3;
/** Manifests and indexes that are read until the right one is found. */
const DOCUMENTS_MAX = 32;
const LISTED_MAX = 20;

/** Where to begin: the document's bytes are checked already. */
export interface FirstDocument {
  readonly digest: string;
  readonly document: ImageDocument;
}

/** Finds the image for a platform. Rejects with `IMAGE_NOT_FOUND` and the list of what there is. */
export async function findManifest(
  source: ImageSource,
  { first, wanted }: { readonly first: FirstDocument; readonly wanted: Platform },
  signal: AbortSignal,
): Promise<FoundManifest> {
  const search = new Search(source, wanted, signal);
  const found = await search.inDocument(first, 0);
  if (found) return found;
  const seen = [...search.seen].slice(0, LISTED_MAX).join(", ");
  const has = seen === "" ? "It has none for any platform." : `It has: ${seen}.`;
  throw new BelljarError("IMAGE_NOT_FOUND", `${shown(source.name)} has no image for ${writePlatform(wanted)}. ${has}`);
}

/** Reads a manifest or an index, and checks its bytes. */
export async function readDocument(
  source: ImageSource,
  { mediaType, ...claim }: BlobClaim & { readonly mediaType: string },
  signal: AbortSignal,
): Promise<ImageDocument> {
  if (claim.size > MANIFEST_MAX_BYTES)
    throw invalidImage(`a manifest says that it has ${claim.size} bytes; ${MANIFEST_MAX_BYTES} are the most`);
  const bytes = await readAtMost(checkBlob(source.openManifest(claim, signal), claim), MANIFEST_MAX_BYTES, "a manifest");
  return parseDocument(bytes, mediaType);
}

class Search {
  readonly #source: ImageSource;
  readonly #wanted: Platform;
  readonly #signal: AbortSignal;
  #documents = 0;
  /** The platforms for which there are images. */
  readonly seen = new Set<string>();

  constructor(source: ImageSource, wanted: Platform, signal: AbortSignal) {
    this.#source = source;
    this.#wanted = wanted;
    this.#signal = signal;
  }

  async inDocument({ digest, document }: FirstDocument, depth: number): Promise<FoundManifest | undefined> {
    if (document.kind === "manifest") return this.#take(digest, document.manifest);
    for (const entry of this.#inOrder(document.index)) {
      const found = await this.#inEntry(entry, depth + 1);
      if (found) return found;
    }
    return undefined;
  }

  async #inEntry(entry: Descriptor, depth: number): Promise<FoundManifest | undefined> {
    this.#documents += 1;
    if (depth > DEPTH_MAX) throw invalidImage(`its indexes are nested more than ${DEPTH_MAX} deep`);
    if (this.#documents > DOCUMENTS_MAX)
      throw invalidImage(`none of its first ${DOCUMENTS_MAX} manifests is for ${writePlatform(this.#wanted)}`);
    const document = await readDocument(this.#source, entry, this.#signal);
    return this.inDocument({ digest: entry.digest, document }, depth);
  }

  /** The configuration decides: it belongs to the image, and an index only describes it. */
  async #take(digest: string, manifest: Manifest): Promise<FoundManifest | undefined> {
    const config = await readConfig(this.#source, manifest, this.#signal);
    this.seen.add(writePlatform(config.platform));
    return runs(this.#wanted, config.platform) ? { digest, manifest, config } : undefined;
  }

  /** The entries for the platform, then those that name none. Others, and what is no image, are left out. */
  #inOrder({ manifests }: Index): readonly Descriptor[] {
    const images = manifests.filter(isImage);
    for (const { platform } of images) if (platform) this.seen.add(writePlatform(platform));
    const fitting = images.filter(({ platform }) => platform && runs(this.#wanted, platform));
    return [...fitting, ...images.filter(({ platform }) => !platform)];
  }
}

/** Attestations lie beside images, as manifests for an unknown platform. */
function isImage({ mediaType, platform, annotations }: Descriptor): boolean {
  const isAttestation = platform?.os === "unknown" || annotations?.["vnd.docker.reference.type"] !== undefined;
  return !isAttestation && (MANIFEST_TYPES.includes(mediaType) || INDEX_TYPES.includes(mediaType));
}

async function readConfig(source: ImageSource, { config, layers }: Manifest, signal: AbortSignal): Promise<ImageConfig> {
  if (!CONFIG_TYPES.includes(config.mediaType))
    throw unsupportedImage(`it is no image of a file system, but "${shown(config.mediaType)}". Name the image that it belongs to`);
  if (config.size > CONFIG_MAX_BYTES)
    throw invalidImage(`its configuration says that it has ${config.size} bytes; ${CONFIG_MAX_BYTES} are the most`);
  const bytes = await readAtMost(checkBlob(source.openBlob(config, signal), config), CONFIG_MAX_BYTES, "the configuration");
  return parseImageConfig(bytes, layers.length);
}
