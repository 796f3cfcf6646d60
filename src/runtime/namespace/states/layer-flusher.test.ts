import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { JailPaths } from "../jail-spec.ts";
import { LayerFlusher } from "./layer-flusher.ts";
import { LayerFolders } from "./layer-folders.ts";
import { LayerJobs } from "./layer-jobs.ts";

/** Of jobs that are not done. */
const NO_PLACE = {} as JailPaths;

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "bj-flusher-"))));
afterEach(() => rmSync(home, { recursive: true }));

const folders = (): LayerFolders => new LayerFolders(home, join(home, "pool"));
const at = (boot: string): LayerFlusher => new LayerFlusher({ boot, folders: folders(), jobs: new LayerJobs("/nowhere") });

async function layerOf(boot: string | undefined): Promise<string> {
  const layer = await folders().begin("home", "a-user");
  await folders().finish({ ...layer, overlays: ["root"], ...(boot !== undefined && { boot }) });
  return layer.id;
}

it("takes a state for whole after a power cut if all that was made with it was flushed", async () => {
  const [below, top] = [await layerOf("one"), await layerOf("one")];
  expect(await at("one").areWhole([top, below])).toBe(true);
  expect(await at("two").areWhole([top, below])).toBe(false);
  await folders().flush([top], "one");
  expect(await at("two").areWhole([top, below])).toBe(false);
  await folders().flush([below], "one");
  expect(await at("two").areWhole([top, below])).toBe(true);
});

it("takes a state for whole that was made on what a power cut had left", async () => {
  const [left, top] = [await layerOf("one"), await layerOf("two")];
  expect(await at("two").areWhole([top, left])).toBe(true);
  expect(await at("two").areWhole([left])).toBe(false);
  expect(await at("three").areWhole([top, left])).toBe(false);
  await folders().flush([top], "two");
  expect(await at("three").areWhole([top, left])).toBe(true);
  expect(await at("three").areWhole([left])).toBe(false);
});

it("flushes once more for what was frozen while a flush began, and no oftener", async () => {
  const begun: (() => void)[] = [];
  const run = (): Promise<readonly string[]> => new Promise((resolve) => begun.push(() => resolve([])));
  const flusher = new LayerFlusher({ boot: "one", folders: folders(), jobs: { run } });
  for (let time = 0; time < 3; time += 1) flusher.soon(NO_PLACE);
  expect(begun).toHaveLength(1);
  begun[0]?.();
  await vi.waitFor(() => expect(begun).toHaveLength(2));
  begun[1]?.();
  await new Promise(setImmediate);
  expect(begun).toHaveLength(2);
});

it("takes no state for whole of which a layer is gone", async () => {
  const top = await layerOf(undefined);
  expect(await at("one").areWhole([top])).toBe(true);
  expect(await at("one").areWhole([top, "b".repeat(20)])).toBe(false);
});
