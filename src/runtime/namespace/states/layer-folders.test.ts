import { afterEach, beforeEach, expect, it } from "vitest";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LayerFolders } from "./layer-folders.ts";

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "bj-layers-"))));
afterEach(() => rmSync(home, { recursive: true }));
/** As another process has it: nothing is remembered. */
const open = (): LayerFolders => new LayerFolders(home, join(home, "pool"));

it("takes a copied layer for whole in the boot that it was made in, and later if it was flushed", async () => {
  const layer = await open().begin("home", "a-user");
  expect(await open().isWhole(layer.id, "one")).toBe(false);
  await open().finish({ ...layer, overlays: ["root"], boot: "one" });
  expect([await open().isWhole(layer.id, "one"), await open().isWhole(layer.id, "two")]).toEqual([true, false]);
  await open().flush([layer.id], "two");
  expect(await open().isWhole(layer.id, "two")).toBe(false);
  await open().flush([layer.id], "one");
  expect(await open().isWhole(layer.id, "two")).toBe(true);
});

it("takes a layer for whole that an earlier release made, and for lost what a power cut has left empty", async () => {
  const layer = await open().begin("home", "a-user");
  await open().finish({ ...layer, overlays: [] });
  expect(await open().isWhole(layer.id, "any")).toBe(true);
  writeFileSync(join(open().folder(layer.id), "layer.json"), "");
  expect(await open().isWhole(layer.id, "any")).toBe(false);
});

it("takes a layer in the pool for whole as long as its subvolume is there", async () => {
  const layer = await open().begin("btrfs", "a-user");
  await open().finish({ ...layer, overlays: ["root"] });
  expect(await open().isWhole(layer.id, "any")).toBe(false);
  mkdirSync(open().files(layer));
  expect(await open().isWhole(layer.id, "any")).toBe(true);
});

it("gives a subvolume without a layer the folder of one that is being removed", async () => {
  const stray = "a".repeat(20);
  mkdirSync(join(home, "pool", "layers", stray), { recursive: true });
  await open().adoptStrays();
  expect(await open().ids()).toEqual([stray]);
  expect(await open().users(stray)).toBeUndefined();
});
