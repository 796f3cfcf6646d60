import { z } from "zod";
import { isDigest } from "./digest.ts";
import { invalidImage, shown, unsupportedImage } from "./image-error.ts";
import { FOREIGN_LAYER, INDEX_TYPES, LAYER_TYPES, MANIFEST_TYPES, SCHEMA1_TYPES } from "./media-types.ts";
import { parseJson } from "../../files/parse-json.ts";

/** What registries take at most, by the distribution specification. */
export const MANIFEST_MAX_BYTES = 4 * 1024 ** 2;
/** Docker itself writes at most 127. */
const LAYERS_MAX = 512;
const ENTRIES_MAX = 2_000;

const Text = z.string().max(1_024);
const Annotations = z.record(z.string(), z.string()).nullish();

const DescriptorSchema = z.object({
  mediaType: Text,
  digest: z.string().refine(isDigest, "is no sha256 or sha512 digest"),
  size: z.number().int().min(0),
  urls: z.array(z.string()).nullish(),
  annotations: Annotations,
  platform: z.object({ architecture: Text, os: Text, variant: Text.nullish() }).nullish(),
});

const IndexSchema = z.object({ manifests: z.array(DescriptorSchema).max(ENTRIES_MAX) });
const ManifestSchema = z.object({ config: DescriptorSchema, layers: z.array(DescriptorSchema).max(LAYERS_MAX) });
const HeadSchema = z.looseObject({ schemaVersion: z.number().optional(), mediaType: Text.optional() });

export type Descriptor = z.infer<typeof DescriptorSchema>;
export type Index = z.infer<typeof IndexSchema>;
export type Manifest = z.infer<typeof ManifestSchema>;
export type ImageDocument = { readonly kind: "index"; readonly index: Index } | { readonly kind: "manifest"; readonly manifest: Manifest };

/**
 * Reads a manifest or an index. `said` is the media type by which it was found. A document that could be read as both is refused, because
 * what one program checks must be what the next one runs.
 */
export function parseDocument(bytes: Uint8Array, said: string | undefined): ImageDocument {
  const head = parseBy(HeadSchema, bytes, "a manifest");
  const types = [head.mediaType, said].filter((type) => type !== undefined);
  if (head.schemaVersion === 1 || types.some((type) => SCHEMA1_TYPES.includes(type)))
    throw unsupportedImage("its manifest has the old schema 1. Push it again with a program of today, which writes schema 2");
  const isBoth = "manifests" in head && ("layers" in head || "config" in head);
  const kinds = new Set([...types.flatMap(kindOfType), "manifests" in head ? "index" : "manifest"]);
  if (isBoth || kinds.size > 1) throw invalidImage("its manifest can be read as an index too");
  return kinds.has("index")
    ? { kind: "index", index: parseBy(IndexSchema, bytes, "an index") }
    : { kind: "manifest", manifest: parseManifest(bytes) };
}

function parseManifest(bytes: Uint8Array): Manifest {
  const manifest = parseBy(ManifestSchema, bytes, "a manifest");
  for (const layer of manifest.layers) assertLayer(layer);
  return manifest;
}

function assertLayer({ mediaType, urls }: Descriptor): void {
  if (FOREIGN_LAYER.test(mediaType) || (urls ?? []).length > 0)
    throw unsupportedImage("one of its layers lies elsewhere, at a URL that its manifest names. Push it again with all its layers");
  if (!LAYER_TYPES.has(mediaType))
    throw unsupportedImage(`one of its layers is of the type "${shown(mediaType)}". Layers are tar, plain or by gzip or zstd`);
}

function kindOfType(type: string): readonly ("index" | "manifest")[] {
  if (INDEX_TYPES.includes(type)) return ["index"];
  return MANIFEST_TYPES.includes(type) ? ["manifest"] : [];
}

/** Parses JSON of a stranger. Throws `IMAGE_INVALID`, with the place of the first problem. */
export function parseBy<T extends z.ZodType>(schema: T, bytes: Uint8Array, what: string): z.infer<T> {
  const value = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalidImage(`${what} of it is invalid at "${shown((issue?.path ?? []).join("."))}": ${shown(issue?.message ?? "")}`);
}
