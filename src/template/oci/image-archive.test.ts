import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  addImage,
  BlobStore,
  collect,
  digestOf,
  type Folder,
  type Json,
  layoutFiles,
  type TarEntry,
  tarOf,
  temporaryFolder,
  zstdFrame,
} from "../../../test/support/image-maker.ts";
import { openImageArchive } from "./image-archive.ts";
import { hostPlatform } from "./platform.ts";

const SIGNAL = AbortSignal.timeout(30_000);
const PLAIN = tarOf({ "a.txt": "a" });

interface Opened {
  readonly digest: string;
  readonly layers: readonly Buffer[];
}

async function openTar(tar: Buffer, options: { readonly name?: string; readonly maxBytes?: number } = {}): Promise<Opened> {
  await using folder = await temporaryFolder();
  return await openTarIn(folder, tar, options);
}

async function openTarIn({ path }: Folder, tar: Buffer, options: { readonly name?: string; readonly maxBytes?: number }): Promise<Opened> {
  await writeFile(join(path, "image.tar"), tar);
  await using image = await openImageArchive(join(path, "image.tar"), { scratch: path, maxBytes: 10_000_000, ...options }, SIGNAL);
  const layers = await Promise.all(image.layers.map((layer) => collect(layer.open({ maxBytes: 1_000_000 }, SIGNAL))));
  return { digest: image.digest, layers };
}

/** An archive as `docker save` writes it. */
function savedFiles(layers: Readonly<Record<string, Buffer>>, diffIds: readonly string[], more: Json = {}): Record<string, Buffer> {
  const config = Buffer.from(JSON.stringify({ ...hostPlatform(), rootfs: { type: "layers", diff_ids: diffIds }, config: null }));
  const name = `${digestOf(config).slice(7)}.json`;
  const manifest = [{ Config: name, RepoTags: ["a:1"], Layers: Object.keys(layers), ...more }];
  return { [name]: config, ...layers, "manifest.json": Buffer.from(JSON.stringify(manifest)) };
}

function entriesOf(files: Readonly<Record<string, Buffer>>): TarEntry[] {
  return Object.entries(files).map(([name, content]) => ({ name, content }));
}

function layoutTar(): { readonly tar: Buffer; readonly digest: string } {
  const store = new BlobStore();
  const manifest = addImage(store, { layers: [{ plain: PLAIN }] });
  return { tar: tarOf(Object.fromEntries(layoutFiles(store, [manifest]))), digest: manifest.digest };
}

describe("an archive", () => {
  it("holds an OCI layout, plain or compressed as a whole", async () => {
    const { tar, digest } = layoutTar();
    for (const bytes of [tar, gzipSync(tar), zstdFrame(tar)]) expect(await openTar(bytes)).toEqual({ digest, layers: [PLAIN] });
  });

  it("holds what docker save writes, and its id is the digest of the configuration", async () => {
    const files = savedFiles({ "1/layer.tar": PLAIN, "2/layer.tar": gzipSync(PLAIN) }, [digestOf(PLAIN), digestOf(PLAIN)]);
    const config = Object.keys(files).find((name) => name.endsWith(".json")) ?? "";
    expect(await openTar(tarOf(files))).toEqual({ digest: `sha256:${config.slice(0, 64)}`, layers: [PLAIN, PLAIN] });
  });

  it("has layers that are links to others, and long names in every form", async () => {
    const long = `${"d".repeat(150)}/layer.tar`;
    const pax = (key: string, value: string): string => {
      const rest = ` ${key}=${value}\n`;
      const length = rest.length + String(rest.length + 3).length;
      return `${length}${rest}`;
    };
    const files = savedFiles(
      { [long]: PLAIN, "2/layer.tar": PLAIN, "3/layer.tar": PLAIN },
      Array.from({ length: 3 }, () => digestOf(PLAIN)),
    );
    const { [long]: _long, "2/layer.tar": _two, "3/layer.tar": _three, ...others } = files;
    const entries: TarEntry[] = [
      { name: "pax", type: "x", content: `${pax("mtime", "1.5")}${pax("path", long)}` },
      { name: "short", content: PLAIN },
      { name: "pax", type: "x", content: pax("linkpath", `../${long}`) },
      { name: "2/layer.tar", type: "2", link: "short" },
      { name: "long", type: "K", content: `../${long}\0` },
      { name: "3/layer.tar", type: "2", link: "short" },
      { name: "folder/", type: "5" },
      ...entriesOf(others),
    ];
    expect((await openTar(tarOf(entries))).layers).toEqual([PLAIN, PLAIN, PLAIN]);
  });

  it("is chosen from by name", async () => {
    const one = savedFiles({ "1/layer.tar": PLAIN }, [digestOf(PLAIN)]);
    const [image] = JSON.parse(one["manifest.json"]?.toString() ?? "") as readonly Json[];
    const both = tarOf({ ...one, "manifest.json": Buffer.from(JSON.stringify([image, { ...image, RepoTags: ["b:1"] }])) });
    expect((await openTar(both, { name: "b:1" })).layers).toEqual([PLAIN]);
    const message = expect.stringContaining("a:1, b:1");
    await expect(openTar(both)).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND", message });
    await expect(openTar(both, { name: "c" })).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND", message });
  });

  it("leaves nothing in the scratch folder, while it is open and after it failed", async () => {
    await using folder = await temporaryFolder();
    const { tar } = layoutTar();
    await writeFile(join(folder.path, "image.tar"), gzipSync(tar));
    const options = { scratch: folder.path, maxBytes: 10_000_000 };
    await using _image = await openImageArchive(join(folder.path, "image.tar"), options, SIGNAL);
    expect(await readdir(folder.path)).toEqual(["image.tar"]);
    const small = { scratch: folder.path, maxBytes: 1_000 };
    await expect(openImageArchive(join(folder.path, "image.tar"), small, SIGNAL)).rejects.toMatchObject({ code: "IMAGE_TOO_LARGE" });
    expect(await readdir(folder.path)).toEqual(["image.tar"]);
  });
});

describe("a hostile archive", () => {
  const saved = (): Record<string, Buffer> => savedFiles({ "1/layer.tar": PLAIN }, [digestOf(PLAIN)]);

  it.each<readonly [string, () => Buffer, string]>([
    ["is no tar", () => Buffer.alloc(4_096, "x"), "no tar"],
    ["is empty", () => Buffer.alloc(0), "neither"],
    ["has another image", () => tarOf({ "other.txt": "x" }), "neither"],
    ["ends within a file", () => tarOf({ ...saved(), big: "x".repeat(5_000) }).subarray(0, -5_000), "ends within"],
    ["says that a file has terabytes", () => tarOf([{ name: "a", size: 8_000_000_000 }]), "ends within"],
    ["has a name of megabytes", () => tarOf([{ name: "a", type: "L", content: "n".repeat(5_000_000) }]), "5000000 bytes"],
    ["has records of megabytes", () => tarOf([{ name: "a", type: "x", content: "n".repeat(5_000_000) }]), "5000000 bytes"],
    ["has damaged records", () => tarOf([{ name: "a", type: "x", content: "9999 path=x\n" }]), "damaged"],
    ["has a size that is no number", () => tarOf([{ name: "a", type: "x", content: "13 size=1e99\n" }, { name: "b" }]), "impossible size"],
    ["has entries without end", () => tarOf(Array.from({ length: 20_001 }, () => ({ name: "a" }))), "20000 entries"],
    ["lacks its layer", () => tarOf(entriesOf(saved()).filter(({ name }) => name !== "1/layer.tar")), "lacks the layer"],
    [
      "has a layer that is a link to itself",
      () => tarOf([...entriesOf(saved()), { name: "1/layer.tar", type: "2", link: "layer.tar" }]),
      "lacks the layer",
    ],
    [
      "has a layer that is a file of this machine",
      () => tarOf([...entriesOf(saved()), { name: "1/layer.tar", type: "2", link: "/etc/passwd" }]),
      "lacks the layer",
    ],
    ["has a layer with other content", () => tarOf({ ...saved(), "1/layer.tar": tarOf({ b: "b" }) }), "should have the digest"],
    ["has a configuration with another name", () => tarOf(savedFiles({ x: PLAIN }, [digestOf(PLAIN)], { Config: "x" })), "configuration"],
    ["has a manifest of another form", () => tarOf({ ...saved(), "manifest.json": Buffer.from("{}") }), "manifest.json"],
  ])("is refused if it %s", async (_name, tar, message) => {
    await expect(openTar(tar())).rejects.toMatchObject({ code: "IMAGE_INVALID", message: expect.stringContaining(message) });
  });

  it("is refused if its configuration is not what its name says", async () => {
    const files = saved();
    const config = Object.keys(files).find((name) => name.endsWith(".json") && name !== "manifest.json") ?? "";
    const changed = { ...files, [config]: Buffer.concat([files[config] ?? Buffer.alloc(0), Buffer.from(" ")]) };
    await expect(openTar(tarOf(changed))).rejects.toMatchObject({
      code: "IMAGE_INVALID",
      message: expect.stringContaining("another digest"),
    });
  });

  it("is no file", async () => {
    await using folder = await temporaryFolder();
    const open = (path: string): Promise<unknown> => openImageArchive(path, { scratch: folder.path, maxBytes: 1 }, SIGNAL);
    await expect(open(folder.path)).rejects.toMatchObject({ code: "IMAGE_INVALID" });
    await expect(open(join(folder.path, "none"))).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND" });
  });
});
