import { linkSync, lstatSync, readlinkSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeHostRoot, modeOf, textOf } from "../../../../test/support/host-root.ts";
import { createLayer, makeParents, readWorldFile } from "./layer.ts";

const CANONICAL = 1_000_000_000;

it("gives modes whatever the umask is, and what is not named is for everybody to read", async () => {
  using host = makeHostRoot();
  host.file("program", 0o600);
  const before = process.umask(0o077);
  try {
    const layer = await createLayer(host.layer, undefined);
    await layer.folder("a/b");
    await layer.folder("private", { mode: 0o700 });
    await layer.file("a/text", "words");
    await layer.file("a/run", Buffer.from("x"), { mode: 0o755 });
    await layer.copy("a/copy", join(host.root, "program"));
    await layer.copy("a/program", join(host.root, "program"), { mode: 0o755 });
  } finally {
    process.umask(before);
  }
  const modes = ["", "a/b", "private", "a/text", "a/run", "a/copy", "a/program"].map((path) => modeOf(join(host.layer, path)));
  expect(modes).toEqual([0o755, 0o755, 0o700, 0o644, 0o755, 0o644, 0o755]);
  expect([textOf(join(host.layer, "a/text")), textOf(join(host.layer, "a/copy"))]).toEqual(["words", "program"]);
});

it("replaces nothing", async () => {
  using host = makeHostRoot();
  host.file("program");
  const layer = await createLayer(host.layer, undefined);
  await layer.file("a", "1");
  const exists = expect.objectContaining({ code: "EEXIST" }) as Error;
  await expect(layer.file("a", "2")).rejects.toThrow(exists);
  await expect(layer.copy("a", join(host.root, "program"))).rejects.toThrow(exists);
  await expect(layer.link("a", "b")).rejects.toThrow(exists);
});

it("makes links and second names", async () => {
  using host = makeHostRoot();
  const layer = await createLayer(host.layer, undefined);
  await layer.file("a", "1");
  await layer.hardLink("b", "a");
  await layer.link("c", "/anywhere");
  await layer.adopt("c");
  expect(lstatSync(join(host.layer, "b")).ino).toBe(lstatSync(join(host.layer, "a")).ino);
  expect(readlinkSync(join(host.layer, "c"))).toBe("/anywhere");
});

it.skipIf(process.getuid?.() !== 0)("gives entries to the canonical ids (only root may)", async () => {
  using host = makeHostRoot();
  host.file("program");
  const layer = await createLayer(host.layer, CANONICAL);
  await layer.folder("folder");
  await layer.file("file", "", { owner: 1000 });
  await layer.copy("copy", join(host.root, "program"), { owner: 8 });
  await layer.link("link", "gone", { owner: 7 });
  linkSync(join(host.root, "program"), join(host.layer, "made"));
  await layer.adopt("made");
  const owners = ["", "folder", "file", "copy", "link", "made"].map((path) => lstatSync(join(host.layer, path)));
  expect(owners.map(({ uid }) => uid - CANONICAL)).toEqual([0, 0, 1000, 8, 7, 0]);
  expect(owners.map(({ gid }) => gid - CANONICAL)).toEqual([0, 0, 1000, 8, 7, 0]);
});

it("makes the folders above a path, and not itself", async () => {
  using host = makeHostRoot();
  const layer = await createLayer(host.layer, undefined);
  const made: string[] = [];
  await makeParents({ ...layer, folder: async (path) => void made.push(path) }, "etc/a/b");
  await makeParents({ ...layer, folder: async (path) => void made.push(path) }, "file");
  expect(made).toEqual(["etc", "etc/a"]);
});

it("reads a file that the whole world may read, of at most 32 MiB", async () => {
  using host = makeHostRoot();
  for (const [path, mode] of Object.entries({ plain: 0o644, writable: 0o666, program: 0o4755, others: 0o604, private: 0o640 }))
    host.file(path, mode);
  host.folder("folder");
  const read = async (path: string) => readWorldFile(join(host.root, path));
  expect(await read("plain")).toEqual({ content: Buffer.from("plain"), mode: 0o644 });
  expect(await read("others")).toMatchObject({ mode: 0o604 });
  expect([(await read("writable"))?.mode, (await read("program"))?.mode]).toEqual([0o644, 0o755]);
  expect([await read("private"), await read("folder")]).toEqual([undefined, undefined]);
  truncateSync(join(host.root, "plain"), 32 * 1024 * 1024);
  expect((await read("plain"))?.content).toHaveLength(32 * 1024 * 1024);
  truncateSync(join(host.root, "plain"), 32 * 1024 * 1024 + 1);
  expect(await read("plain")).toBeUndefined();
  host.link("link", "others");
  await expect(read("link")).rejects.toThrow(expect.objectContaining({ code: "ELOOP" }));
});
