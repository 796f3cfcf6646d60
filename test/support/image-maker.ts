import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { hostPlatform } from "../../src/template/oci/platform.ts";

export const OCI = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  tar: "application/vnd.oci.image.layer.v1.tar",
  gzip: "application/vnd.oci.image.layer.v1.tar+gzip",
  zstd: "application/vnd.oci.image.layer.v1.tar+zstd",
} as const;

export type Json = Readonly<Record<string, unknown>>;

export interface Descriptor extends Json {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** Blobs by digest, as a maker of images stores them. */
export class BlobStore {
  readonly blobs = new Map<string, Buffer>();

  add(content: Uint8Array | Json, mediaType: string): Descriptor {
    const bytes = content instanceof Uint8Array ? Buffer.from(content) : Buffer.from(JSON.stringify(content));
    const digest = digestOf(bytes);
    this.blobs.set(digest, bytes);
    return { mediaType, digest, size: bytes.length };
  }
}

export function digestOf(bytes: Uint8Array, algorithm = "sha256"): string {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;
}

export interface LayerParts {
  /** The uncompressed bytes. */
  readonly plain: Buffer;
  readonly mediaType?: string;
  /** The bytes as they are stored. Default: by gzip. */
  readonly stored?: Buffer;
}

export interface ImageParts {
  readonly layers?: readonly LayerParts[];
  /** Fields of the configuration that replace what is true. */
  readonly config?: Json;
  /** Fields of the manifest that replace what is true. */
  readonly manifest?: Json;
}

/** Stores an image, with what the test wants to be untrue of it. Returns the manifest's descriptor. */
export function addImage(
  store: BlobStore,
  { layers = [{ plain: tarOf({ "a.txt": "a" }) }], config = {}, manifest = {} }: ImageParts = {},
): Descriptor {
  const stored = layers.map(({ plain, mediaType = OCI.gzip, stored: bytes }) => store.add(bytes ?? gzipSync(plain), mediaType));
  const diffIds = layers.map(({ plain }) => digestOf(plain));
  const full = { ...hostPlatform(), rootfs: { type: "layers", diff_ids: diffIds }, config: { Env: ["PATH=/bin"] }, ...config };
  return store.add(
    { schemaVersion: 2, mediaType: OCI.manifest, config: store.add(full, OCI.config), layers: stored, ...manifest },
    OCI.manifest,
  );
}

export interface Folder extends AsyncDisposable {
  readonly path: string;
}

export async function temporaryFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), "bjoci-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** The files of an image layout, by name. */
export function layoutFiles(store: BlobStore, manifests: readonly Json[]): Map<string, Buffer> {
  const blobs = [...store.blobs].map(([digest, bytes]) => [`blobs/${digest.replace(":", "/")}`, bytes] as const);
  const index = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: OCI.index, manifests }));
  return new Map([["oci-layout", Buffer.from('{"imageLayoutVersion":"1.0.0"}')], ["index.json", index], ...blobs]);
}

export async function writeLayout(store: BlobStore, manifests: readonly Json[]): Promise<Folder> {
  const folder = await temporaryFolder();
  for (const [name, bytes] of layoutFiles(store, manifests)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true });
    await writeFile(join(folder.path, name), bytes);
  }
  return folder;
}

export interface TarEntry {
  readonly name: string;
  readonly type?: string;
  readonly content?: Uint8Array | string;
  readonly link?: string;
  /** The size that the header says, if it lies. */
  readonly size?: number;
}

/** A tar of files, or of entries of any kind. */
export function tarOf(files: Readonly<Record<string, string | Uint8Array>> | readonly TarEntry[]): Buffer {
  const entries = Array.isArray(files)
    ? (files as readonly TarEntry[])
    : Object.entries(files).map(([name, content]) => ({ name, content }));
  return Buffer.concat([...entries.flatMap(tarEntry), Buffer.alloc(1024)]);
}

function tarEntry({ name, type = "0", content = "", link = "", size }: TarEntry): readonly Buffer[] {
  const body = Buffer.from(content as string);
  const header = Buffer.alloc(512);
  header.write(name, 0, 100);
  header.write("0000644\0", 100);
  header.write(`${(size ?? body.length).toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write(" ".repeat(8), 148);
  header.write(type, 156);
  header.write(link, 157, 100);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return [header, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
}

/** A frame of zstd with a block of 13 bytes (RFC 8878, 3.1.1.3): 98,047 sequences, each of which copies 64 KiB to where nothing is. */
export const ENDLESS_ZSTD = Buffer.from("KLUv/QA4VQAACWH///9UAAA0AQ==", "base64");

/** A frame of zstd whose blocks are not compressed: every decoder reads it, and none is needed to write it. */
export function zstdFrame(content: Uint8Array, { window = 0x38, blockBytes = 100_000 } = {}): Buffer {
  const parts = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, window])];
  for (let at = 0; at === 0 || at < content.length; at += blockBytes) {
    const block = Buffer.from(content.subarray(at, at + blockBytes));
    const header = Buffer.alloc(3);
    header.writeUIntLE(block.length * 8 + (at + blockBytes >= content.length ? 1 : 0), 0, 3);
    parts.push(header, block);
  }
  return Buffer.concat(parts);
}

export async function collect(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}
