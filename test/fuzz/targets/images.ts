import { ok } from "node:assert/strict";
import type { FileHandle } from "node:fs/promises";
import { BelljarError } from "../../../src/errors.ts";
import { parseImageConfig } from "../../../src/template/oci/image-config.ts";
import { parseDocument } from "../../../src/template/oci/manifest.ts";
import { parseChallenge } from "../../../src/template/oci/registry/challenge.ts";
import { parseReference, writeReference } from "../../../src/template/oci/registry/reference.ts";
import { readTarIndex } from "../../../src/template/oci/tar-index.ts";
import { decompressZstd } from "../../../src/template/oci/zstd.ts";
import { addImage, BlobStore, ENDLESS_ZSTD, OCI, tarOf, zstdFrame } from "../../support/image-maker.ts";
import { pureTarget } from "../fuzz-target.ts";

const ZSTD = Buffer.from("KLUv/WRgACUBALhoZWxsbyAsIHpzdGQgYW5kIGFnYWluCgMABVtQhaK8RaJSBHJcfr4=", "base64");
const BLOCK_BYTES = 131_072;
const TIME = { freeMs: 500, bytesPerMs: 1_000 };
const FORESEEN: ReadonlySet<string> = new Set(["IMAGE_INVALID", "NOT_SUPPORTED", "ARGUMENTS_INVALID"]);
const MESSAGE_MAX = 1_000;

const store = new BlobStore();
store.add({ schemaVersion: 2, manifests: [{ ...addImage(store), platform: { os: "linux", architecture: "amd64" } }] }, OCI.index);

/** Frames of zstd: refused as foreseen and in time, or no larger than their blocks may be. */
export const imageZstd = pureTarget({
  seeds: [ZSTD, ENDLESS_ZSTD, zstdFrame(Buffer.from("raw")), Buffer.concat([ZSTD, ZSTD])],
  words: [ZSTD.subarray(0, 4), Buffer.from([0x50, 0x2a, 0x4d, 0x18]), Buffer.from([0x78]), Buffer.from([0xff, 0xff, 0xff])],
  async run(input) {
    await foreseen(async () => {
      for await (const chunk of decompressZstd(once(input), TIME)) ok(chunk.length <= BLOCK_BYTES);
    });
  },
});

/** What an image's files and a registry say: refused as foreseen, in a short message, or read. */
export const imageFiles = pureTarget({
  seeds: [
    ...store.blobs.values(),
    tarOf({ "a.txt": "a" }),
    tarOf([{ name: "p", type: "x", content: "12 path=abc\n" }]),
    "ghcr.io/a/b:c",
    'Bearer realm="x"',
  ],
  words: ['"layers":', '"manifests":', '"schemaVersion":1', '"urls":["x"]', '"config":null', "sha256:", "sha512:", "@", "realm="],
  async run(input) {
    const text = input.toString();
    await foreseen(() => parseDocument(input, undefined));
    await foreseen(() => parseImageConfig(input, 1));
    await foreseen(() => ok(parseReference(writeReference(parseReference(text))).repository.length <= 255));
    await foreseen(() => parseChallenge(text));
    await foreseen(() => readTarIndex({ handle: handleOf(withChecksum(input)), size: input.length }, AbortSignal.timeout(10_000)));
  },
});

async function foreseen(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof BelljarError) || !FORESEEN.has(error.code)) throw error;
    ok(error.message.length <= MESSAGE_MAX);
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** A random change would break the sum, and nothing behind it would be read. */
function withChecksum(input: Buffer): Buffer {
  if (input.length < 512) return input;
  const bytes = Buffer.from(input);
  bytes.write(" ".repeat(8), 148);
  const sum = bytes.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return bytes;
}

function handleOf(bytes: Buffer): FileHandle {
  const read = async (into: Buffer, at: number, length: number, from: number): Promise<{ readonly bytesRead: number }> => ({
    bytesRead: bytes.copy(into, at, from, Math.min(bytes.length, from + length)),
  });
  return { read } as unknown as FileHandle;
}
