import { BelljarError } from "../errors.ts";
import type { StateStore } from "../runtime/contract/state-store.ts";
import type { ImageLayer, OciImage } from "./oci/oci-image.ts";
import type { Held } from "./making/while-holding.ts";
import type { KnownLayer, KnownLayers } from "./known-layers.ts";

/** Of one template. More than any tool makes. */
export const LAYERS_MAX = 256;
/** A sandbox on so many takes no longer to start than on one. */
const HIGH = 7;
/** Files of one template, with its folders, links and whiteouts. */
const ENTRIES_MAX = 5_000_000;
/** A tar has headers beside the files. */
const TAR_MORE_BYTES = 1024 ** 3;

export interface UnpackParts {
  readonly states: StateStore;
  readonly known: Pick<KnownLayers, "find" | "note">;
  /** Of all layers together. */
  readonly maxBytes: number;
  /** Uses the layers, whatever becomes of the work: the caller lets go of them. */
  readonly user: string;
  readonly held: Held;
  readonly signal: AbortSignal;
}

export interface UnpackedImage {
  /** What sandboxes begin with, the topmost first. */
  readonly layers: readonly string[];
  /** The layers that one of these stands for: as long as they are there, other images share them. */
  readonly parts?: readonly string[];
  readonly bytes: number;
}

/**
 * Makes a frozen layer of each layer of an image that the home does not have. What has many becomes one that shares their files, since
 * sandboxes start on few layers sooner. All is on the disk at the end.
 */
export async function unpackImage(image: Pick<OciImage, "layers">, parts: UnpackParts): Promise<UnpackedImage> {
  if (image.layers.length > LAYERS_MAX)
    throw new BelljarError("IMAGE_INVALID", `The image has ${image.layers.length} layers, and at most ${LAYERS_MAX} can be used`);
  const layers: string[] = [];
  const chain: string[] = [];
  let [bytes, entries] = [0, 0];
  for (const layer of image.layers) {
    const room = { maxBytes: parts.maxBytes - bytes, maxEntries: ENTRIES_MAX - entries };
    chain.push(layer.diffId);
    const name = JSON.stringify(chain); // what it holds depends on those below
    const unpacked = (await findKnown(name, parts)) ?? (await unpackOne(layer, { ...parts, ...room, name, below: [...layers] }));
    parts.held([unpacked.layer]);
    bytes += unpacked.bytes;
    entries += unpacked.entries;
    if (bytes > parts.maxBytes || entries > ENTRIES_MAX) throw tooLarge(parts.maxBytes);
    layers.unshift(unpacked.layer);
  }
  const one = layers.length > HIGH ? await mergeAll(image, layers, { ...parts, bytes, entries }) : undefined;
  await parts.states.flushLayers([...(one === undefined ? [] : [one]), ...layers], parts.signal);
  return one === undefined ? { layers, bytes } : { layers: [one], parts: layers, bytes };
}

/** The same one for the same image, as long as it is there: the steps of builds that lie on it are found by it. */
async function mergeAll(
  image: Pick<OciImage, "layers">,
  layers: readonly string[],
  parts: UnpackParts & Omit<KnownLayer, "layer">,
): Promise<string> {
  const { states, known, user, held, bytes, entries, signal } = parts;
  const name = image.layers.map(({ diffId }) => diffId).join(" ");
  const found = (await findKnown(name, parts))?.layer;
  const layer = found ?? (await states.merge(layers, user, signal));
  held([layer]);
  if (found === undefined) await known.note(name, { layer, bytes, entries });
  return layer;
}

/** Undefined: nobody uses it any more, and it is gone, or a power cut has left it in part. */
async function findKnown(name: string, { known, states, user }: UnpackParts): Promise<KnownLayer | undefined> {
  const found = await known.find(name);
  if (!found) return undefined;
  try {
    await states.hold([found.layer], user);
    if (await states.has([found.layer])) return found;
    await states.letGo([found.layer], user);
    return undefined;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "SANDBOX_FILES_LOST") return undefined;
    throw cause;
  }
}

interface LayerParts extends UnpackParts {
  readonly maxEntries: number;
  readonly name: string;
  readonly below: readonly string[];
}

async function unpackOne(layer: ImageLayer, parts: LayerParts): Promise<KnownLayer> {
  const { states, known, name, below, maxBytes, maxEntries, user, signal } = parts;
  const tar = layer.open({ maxBytes: maxBytes + TAR_MORE_BYTES }, signal);
  const { skipped: _, ...unpacked } = await states.unpack({ tar, user, below, maxBytes, maxEntries }, signal);
  await known.note(name, unpacked);
  return unpacked;
}

function tooLarge(maxBytes: number): BelljarError {
  return new BelljarError(
    "IMAGE_TOO_LARGE",
    `The image has more than ${maxBytes} bytes or ${ENTRIES_MAX} names of files: a template may have no more`,
  );
}
