import { z } from "zod";
import { BelljarError } from "../../errors.ts";
import { digestOf } from "./digest.ts";
import { type FirstDocument, readDocument } from "./find-manifest.ts";
import { invalidImage, shown, unsupportedImage } from "./image-error.ts";
import type { ImageSource } from "./image-source.ts";
import { type Descriptor, parseBy, parseDocument } from "./manifest.ts";
import { INDEX_TYPES } from "./media-types.ts";

/** Where programs write an image's name. Docker writes the tag alone into the first one. */
const NAME_KEYS = ["io.containerd.image.name", "org.opencontainers.image.ref.name"];
const LISTED_MAX = 20;

const LayoutSchema = z.object({ imageLayoutVersion: z.string().max(64) });

export interface LayoutFiles {
  /** The file `oci-layout`. */
  readonly layout: Uint8Array | undefined;
  /** The file `index.json`. */
  readonly index: Uint8Array | undefined;
  readonly name: string | undefined;
}

/** Returns where the search for an image begins. Rejects with `IMAGE_NOT_FOUND` and the names, if the name fits none or several do. */
export async function firstOfLayout(
  source: ImageSource,
  { layout, index, name }: LayoutFiles,
  signal: AbortSignal,
): Promise<FirstDocument> {
  if (!layout || !index) throw invalidImage("it lacks oci-layout or index.json");
  const { imageLayoutVersion } = parseBy(LayoutSchema, layout, "oci-layout");
  if (!imageLayoutVersion.startsWith("1.")) throw unsupportedImage(`its layout is of version ${shown(imageLayoutVersion)}, not 1`);
  const document = parseDocument(index, INDEX_TYPES[0]);
  if (document.kind !== "index") throw invalidImage("its index.json is no index");
  const entries = choose(document.index.manifests, name);
  const [only] = entries;
  if (entries.length === 1 && only) return { digest: only.digest, document: await readDocument(source, only, signal) };
  return { digest: digestOf(index), document: { kind: "index", index: { manifests: [...entries] } } };
}

/** Entries of one name are one image for several platforms. */
function choose(entries: readonly Descriptor[], name: string | undefined): readonly Descriptor[] {
  const names = new Set(entries.flatMap((entry) => nameOf(entry) ?? []));
  if (name !== undefined) {
    const named = entries.filter((entry) => fits(entry, name));
    if (named.length > 0) return named;
    throw missing(`There is no image "${shown(name)}" in it.`, names);
  }
  if (names.size > 1) throw missing("There are several images in it. Name one of them.", names);
  return entries;
}

function fits({ annotations, digest }: Descriptor, name: string): boolean {
  return digest === name || NAME_KEYS.some((key) => annotations?.[key] === name);
}

function nameOf({ annotations }: Descriptor): string | undefined {
  return NAME_KEYS.map((key) => annotations?.[key]).find((name) => name !== undefined);
}

export function missing(what: string, names: Iterable<string>): BelljarError {
  const listed = [...names].slice(0, LISTED_MAX).map(shown).join(", ");
  return new BelljarError("IMAGE_NOT_FOUND", `${what} It has: ${listed === "" ? "images without names" : listed}`);
}
