import { execFileSync } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  addImage,
  BlobStore,
  collect,
  digestOf,
  type ImageParts,
  type Json,
  OCI,
  tarOf,
  writeLayout,
  zstdFrame,
} from "../../../test/support/image-maker.ts";
import { type OpenImageOptions, openImageLayout } from "./image-layout.ts";
import { hostPlatform } from "./platform.ts";

const SIGNAL = AbortSignal.timeout(30_000);
const MANY = { maxBytes: 100_000_000 };
const PLAIN = tarOf({ "a.txt": "a" });

async function readAll(
  store: BlobStore,
  manifests: readonly Json[],
  options: OpenImageOptions & { readonly maxBytes?: number } = {},
): Promise<readonly Buffer[]> {
  await using folder = await writeLayout(store, manifests);
  await using image = await openImageLayout(folder.path, options, SIGNAL);
  return await Promise.all(image.layers.map((layer) => collect(layer.open({ ...MANY, ...options }, SIGNAL))));
}

async function readOne(parts: ImageParts, maxBytes?: number): Promise<readonly Buffer[]> {
  const store = new BlobStore();
  return readAll(store, [addImage(store, parts)], maxBytes === undefined ? {} : { maxBytes });
}

describe("an image layout", () => {
  it("gives the configuration, and the layers from the lowest on", async () => {
    const store = new BlobStore();
    const plains = [tarOf({ "a.txt": "a" }), tarOf({ "b.txt": "b".repeat(300_000) })];
    const Config = {
      Env: ["A=b"],
      User: "1234",
      WorkingDir: "/w",
      Entrypoint: ["/e"],
      Cmd: null,
      ExposedPorts: { "80/tcp": {}, "53/udp": {} },
      Labels: { l: "v" },
    };
    const manifest = addImage(store, { layers: plains.map((plain) => ({ plain })), config: { config: Config } });
    await using folder = await writeLayout(store, [manifest]);
    await using image = await openImageLayout(folder.path, {}, SIGNAL);
    expect(image.digest).toBe(manifest.digest);
    expect(image.config).toEqual({
      platform: hostPlatform(),
      env: ["A=b"],
      user: "1234",
      workingDir: "/w",
      entrypoint: ["/e"],
      exposedPorts: [80],
      labels: { l: "v" },
      diffIds: plains.map((plain) => digestOf(plain)),
    });
    for (const [index, layer] of image.layers.entries()) {
      expect(layer.diffId).toBe(image.config.diffIds[index]);
      expect(digestOf(await collect(layer.open(MANY, SIGNAL)))).toBe(layer.diffId);
    }
  });

  const twoMembers = Buffer.concat([gzipSync(PLAIN.subarray(0, 700)), gzipSync(PLAIN.subarray(700))]);
  it.each([
    ["plain", OCI.tar, PLAIN],
    ["gzip", OCI.gzip, gzipSync(PLAIN)],
    ["gzip of two members", OCI.gzip, twoMembers],
    ["zstd", OCI.zstd, zstdFrame(PLAIN)],
    ["Docker's plain", "application/vnd.docker.image.rootfs.diff.tar", PLAIN],
    ["Docker's gzip", "application/vnd.docker.image.rootfs.diff.tar.gzip", gzipSync(PLAIN)],
    ["Docker's zstd", "application/vnd.docker.image.rootfs.diff.tar.zstd", zstdFrame(PLAIN)],
  ])("has layers that are %s", async (_name, mediaType, stored) => {
    expect(await readOne({ layers: [{ plain: PLAIN, mediaType, stored }] })).toEqual([PLAIN]);
  });

  it("has blobs that are known by sha512", async () => {
    const stored = gzipSync(PLAIN);
    const store = new BlobStore();
    const digest = digestOf(stored, "sha512");
    store.blobs.set(digest, stored);
    const layers = [{ mediaType: OCI.gzip, digest, size: stored.length }];
    expect(await readAll(store, [addImage(store, { layers: [{ plain: PLAIN }], manifest: { layers } })])).toEqual([PLAIN]);
    store.blobs.set(digest, Buffer.from(stored).fill(1, 20, 21));
    await expect(readAll(store, [addImage(store, { layers: [{ plain: PLAIN }], manifest: { layers } })])).rejects.toMatchObject({
      code: "IMAGE_INVALID",
    });
  });

  it("has an image without layers", async () => {
    expect(await readOne({ layers: [] })).toEqual([]);
  });
});

describe("a choice of images", () => {
  const other = { os: "linux", architecture: "s390x" };

  it("is made by platform, past attestations and through nested indexes", async () => {
    const store = new BlobStore();
    const mine = { ...addImage(store), platform: hostPlatform() };
    const others = { ...addImage(store, { config: other }), platform: other };
    const attestation = { ...addImage(store, { config: { os: "unknown" } }), platform: { os: "unknown", architecture: "unknown" } };
    const inner = store.add({ schemaVersion: 2, mediaType: OCI.index, manifests: [attestation, others, mine] }, OCI.index);
    await using folder = await writeLayout(store, [inner]);
    await using image = await openImageLayout(folder.path, {}, SIGNAL);
    expect(image.digest).toBe(mine.digest);
    await using named = await openImageLayout(folder.path, { platform: other }, SIGNAL);
    expect(named.digest).toBe(others.digest);
    const wanted = { os: "linux", architecture: "arm", variant: "v7" };
    const message = expect.stringMatching(/no image for linux\/arm\/v7. It has: linux\/s390x, linux\/\w+/);
    await expect(openImageLayout(folder.path, { platform: wanted }, SIGNAL)).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND", message });
  });

  it("is made by the configuration, where the index lies or says nothing", async () => {
    const store = new BlobStore();
    const lying = { ...addImage(store, { config: other }), platform: hostPlatform() };
    const silent = addImage(store);
    await using folder = await writeLayout(store, [lying, silent]);
    await using image = await openImageLayout(folder.path, {}, SIGNAL);
    expect(image.digest).toBe(silent.digest);
  });

  it("is made by name, and asks for one where there are several", async () => {
    const store = new BlobStore();
    const named = (name: string, plain: string): Json => ({
      ...addImage(store, { layers: [{ plain: tarOf({ f: plain }) }] }),
      annotations: { "org.opencontainers.image.ref.name": name },
    });
    const both = [named("one:1", "1"), named("two:2", "2")];
    expect(await readAll(store, both, { name: "two:2" })).toEqual([tarOf({ f: "2" })]);
    const message = expect.stringContaining("one:1, two:2");
    await expect(readAll(store, both)).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND", message });
    await expect(readAll(store, both, { name: "three" })).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND", message });
  });

  it("ends when indexes are nested or many without end", async () => {
    const store = new BlobStore();
    let deepest = addImage(store);
    for (let depth = 0; depth < 6; depth += 1) deepest = store.add({ schemaVersion: 2, manifests: [deepest] }, OCI.index);
    await expect(readAll(store, [deepest])).rejects.toMatchObject({ code: "IMAGE_INVALID", message: expect.stringContaining("nested") });
    const many = Array.from({ length: 100 }, () => addImage(store, { config: other }));
    await expect(readAll(store, many)).rejects.toMatchObject({ code: "IMAGE_INVALID", message: expect.stringContaining("first 32") });
  });
});

describe("an image that lies", () => {
  const layer = (change: Json): ImageParts => {
    const stored = gzipSync(PLAIN);
    const truth = { mediaType: OCI.gzip, digest: digestOf(stored), size: stored.length };
    return { manifest: { layers: [{ ...truth, ...change }] } };
  };
  const zeros = (bytes: number): string => digestOf(Buffer.alloc(bytes));

  it.each<readonly [string, ImageParts, string]>([
    ["a layer is larger than it says", layer({ size: 10 }), "more than the 10 bytes"],
    ["a layer is smaller than it says", layer({ size: 10_000 }), "its descriptor says 10000"],
    [
      "a layer has another digest",
      { layers: [{ plain: PLAIN, stored: gzipSync(PLAIN) }], manifest: {}, config: { rootfs: { type: "layers", diff_ids: [zeros(1)] } } },
      "should have the digest",
    ],
    ["it knows fewer layers", { config: { rootfs: { type: "layers", diff_ids: [] } } }, "knows 0"],
    ["a layer has a digest of md5", layer({ digest: `md5:${"0".repeat(32)}` }), "layers.0.digest"],
    ["a layer's digest is a path", layer({ digest: "sha256:../../../../etc/passwd" }), "layers.0.digest"],
    ["a size is negative", layer({ size: -1 }), "layers.0.size"],
    ["a size is no whole number", layer({ size: 1.5 }), "layers.0.size"],
    [
      "it has 10,000 layers",
      { manifest: { layers: Array.from({ length: 10_000 }, () => layer({}).manifest?.["layers"]).flat() } },
      "layers",
    ],
    ["it is an index too", { manifest: { manifests: [] } }, "as an index too"],
    ["it says that it is an index", { manifest: { mediaType: OCI.index } }, "as an index too"],
    ["a variable has a NUL", { config: { config: { Env: ["A=\0"] } } }, "NUL"],
    ["a layer is no gzip", { layers: [{ plain: PLAIN, stored: PLAIN }] }, "not valid gzip"],
    ["a layer is no zstd", { layers: [{ plain: PLAIN, mediaType: OCI.zstd, stored: PLAIN }] }, "zstd"],
    ["gzip ends early", { layers: [{ plain: PLAIN, stored: gzipSync(PLAIN).subarray(0, -9) }] }, "not valid gzip"],
  ])("is refused if %s", async (_name, parts, message) => {
    await expect(readOne(parts)).rejects.toMatchObject({ code: "IMAGE_INVALID", message: expect.stringContaining(message) });
  });

  it.each<readonly [string, ImageParts, string]>([
    ["has schema 1", { manifest: { schemaVersion: 1, mediaType: undefined } }, "schema 1"],
    ["has layers elsewhere", layer({ urls: ["http://169.254.169.254/"] }), "elsewhere"],
    ["has foreign layers", layer({ mediaType: "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip" }), "elsewhere"],
    ["has encrypted layers", layer({ mediaType: `${OCI.gzip}+encrypted` }), "+encrypted"],
    ["is no image", { manifest: { config: { mediaType: "application/vnd.cncf.helm.config.v1+json", digest: zeros(1), size: 1 } } }, "helm"],
  ])("is refused in words if it %s", async (_name, parts, message) => {
    await expect(readOne(parts)).rejects.toMatchObject({ code: "NOT_SUPPORTED", message: expect.stringContaining(message) });
  });

  it("is refused if a blob has other bytes of the same length, whichever blob it is", async () => {
    const store = new BlobStore();
    const manifest = addImage(store);
    for (const [digest, bytes] of store.blobs) {
      const changed = new BlobStore();
      for (const [key, value] of store.blobs) changed.blobs.set(key, value);
      changed.blobs.set(digest, Buffer.concat([bytes.subarray(0, -1), Buffer.of((bytes.at(-1) ?? 0) ^ 1)]));
      await expect(readAll(changed, [manifest])).rejects.toMatchObject({ code: "IMAGE_INVALID" });
    }
  });

  it("is refused if what follows the gzip is not of the blob", async () => {
    const stored = Buffer.concat([gzipSync(PLAIN), Buffer.alloc(1_000_000, 7)]);
    const truth = { mediaType: OCI.gzip, digest: zeros(5), size: stored.length };
    const store = new BlobStore();
    const manifest = addImage(store, { manifest: { layers: [truth] } });
    store.blobs.set(truth.digest, stored);
    await expect(readAll(store, [manifest])).rejects.toMatchObject({ code: "IMAGE_INVALID" });
  });

  it("says no more than a manifest or a configuration may have", async () => {
    const store = new BlobStore();
    const manifest = addImage(store);
    await expect(readAll(store, [{ ...manifest, size: 5_000_000 }])).rejects.toMatchObject({ code: "IMAGE_INVALID" });
    const config = { mediaType: OCI.config, digest: zeros(1), size: 9_000_000 };
    await expect(readAll(store, [addImage(store, { manifest: { config } })])).rejects.toMatchObject({ code: "IMAGE_INVALID" });
  });
});

describe("a layer that is a bomb", () => {
  it.each([
    ["gzip", OCI.gzip, gzipSync(Buffer.alloc(5_000_000))],
    ["zstd", OCI.zstd, rleFrame(40)],
    ["plain", OCI.tar, Buffer.alloc(2_000_000)],
  ] as const)("by %s ends at the bound, before more is yielded", async (_name, mediaType, stored) => {
    const store = new BlobStore();
    const manifest = addImage(store, { layers: [{ plain: PLAIN, mediaType, stored }] });
    await using folder = await writeLayout(store, [manifest]);
    await using image = await openImageLayout(folder.path, {}, SIGNAL);
    let seen = 0;
    const read = async (): Promise<void> => {
      for await (const chunk of image.layers[0]?.open({ maxBytes: 1_000_000 }, SIGNAL) ?? []) seen += chunk.length;
    };
    await expect(read()).rejects.toMatchObject({ code: "IMAGE_TOO_LARGE" });
    expect(seen).toBeLessThanOrEqual(1_000_000);
  });
});

describe("a folder that is no image", () => {
  it.each(["oci-layout", "index.json"])("lacks %s", async (file) => {
    const store = new BlobStore();
    await using folder = await writeLayout(store, [addImage(store)]);
    await rm(join(folder.path, file));
    await expect(openImageLayout(folder.path, {}, SIGNAL)).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND" });
  });

  it("has a pipe for a blob, which nobody waits for", async () => {
    const store = new BlobStore();
    const manifest = addImage(store);
    await using folder = await writeLayout(store, [manifest]);
    const path = join(folder.path, "blobs", manifest.digest.replace(":", "/"));
    await rm(path);
    execFileSync("mkfifo", [path]);
    await expect(openImageLayout(folder.path, {}, SIGNAL)).rejects.toMatchObject({ code: "IMAGE_INVALID" });
  });

  it("is of another version, or no JSON", async () => {
    const store = new BlobStore();
    await using folder = await writeLayout(store, [addImage(store)]);
    await writeFile(join(folder.path, "oci-layout"), '{"imageLayoutVersion":"2.0.0"}');
    await expect(openImageLayout(folder.path, {}, SIGNAL)).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    await writeFile(join(folder.path, "oci-layout"), "[]");
    await expect(openImageLayout(folder.path, {}, SIGNAL)).rejects.toMatchObject({ code: "IMAGE_INVALID" });
  });

  it("stops when the signal aborts", async () => {
    const store = new BlobStore();
    await using folder = await writeLayout(store, [addImage(store)]);
    const reason = new TypeError("enough");
    await expect(openImageLayout(folder.path, {}, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

/** A frame whose blocks are one byte each, repeated 128 KiB times. */
function rleFrame(blocks: number): Buffer {
  const header = (isLast: boolean): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUIntLE(131_072 * 8 + 2 + (isLast ? 1 : 0), 0, 3);
    return bytes;
  };
  return Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38]),
    ...Array.from({ length: blocks }, (_, index) => header(index === blocks - 1)),
  ]);
}
