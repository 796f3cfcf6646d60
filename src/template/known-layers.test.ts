import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../test/support/image-maker.ts";
import { KnownLayers } from "./known-layers.ts";

const ONE = { layer: "a".repeat(20), bytes: 7, entries: 1 };
const OTHER = { layer: "b".repeat(20), bytes: 8, entries: 1 };

it("knows what any process has noted, the last of it", async () => {
  await using home = await temporaryFolder();
  await new KnownLayers(home.path, "local").note("sha256:one", ONE);
  await new KnownLayers(home.path, "local").note("sha256:two", OTHER);
  const known = new KnownLayers(home.path, "local");
  expect([await known.find("sha256:one"), await known.find("sha256:two"), await known.find("sha256:three")]).toEqual([
    ONE,
    OTHER,
    undefined,
  ]);
  await known.note("sha256:one", OTHER);
  expect(await known.find("sha256:one")).toEqual(OTHER);
});

it("keeps what is called by any text below its own folder", async () => {
  await using home = await temporaryFolder();
  const known = new KnownLayers(home.path, "local");
  for (const digest of ["../../out", "/etc/passwd", "a\0b", "", "x".repeat(10_000)]) {
    await known.note(digest, ONE);
    expect(await known.find(digest)).toEqual(ONE);
  }
  expect(await readdir(home.path)).toEqual(["templates"]);
  expect(await readdir(join(home.path, "templates"))).toEqual(["known"]);
  expect(await readdir(join(home.path, "templates/known"))).toHaveLength(1);
});

it("takes a damaged note for none", async () => {
  await using home = await temporaryFolder();
  const known = new KnownLayers(home.path, "local");
  await known.note("sha256:one", ONE);
  const folder = await folderOf(home.path);
  for (const text of ["", "{", "[]", '{"layer":"../x","bytes":1}', '{"layer":"aaaaaaaaaaaaaaaaaaaa","bytes":-1}']) {
    for (const name of await readdir(folder)) await writeFile(join(folder, name), text);
    expect(await known.find("sha256:one")).toBeUndefined();
  }
});

it("prunes its owner's notes of layers that are gone, and damaged ones, and no file that is being written", async () => {
  await using home = await temporaryFolder();
  const [known, others] = [new KnownLayers(home.path, "local"), new KnownLayers(home.path, "other")];
  await known.note("sha256:bad", ONE);
  const folder = await folderOf(home.path);
  const [bad = ""] = await readdir(folder);
  await writeFile(join(folder, bad), "{");
  await writeFile(join(folder, ".fresh"), "{");
  for (const one of [known, others])
    for (const [name, layer] of [
      ["one", ONE],
      ["two", OTHER],
    ] as const)
      await one.note(name, layer);
  await known.prune(async (layer) => layer === ONE.layer);
  expect(await readdir(folder)).toHaveLength(2);
  expect(await readdir(folder)).toContain(".fresh");
  expect([await known.find("one"), await known.find("two"), await others.find("two")]).toEqual([ONE, undefined, OTHER]);
});

it("tells nobody what another owner has", async () => {
  await using home = await temporaryFolder();
  await new KnownLayers(home.path, "local").note("sha256:one", ONE);
  expect(await new KnownLayers(home.path, "other").find("sha256:one")).toBeUndefined();
});

/** Of the only owner that has noted something. */
async function folderOf(home: string): Promise<string> {
  const known = join(home, "templates/known");
  const [owner = ""] = await readdir(known);
  return join(known, owner);
}
