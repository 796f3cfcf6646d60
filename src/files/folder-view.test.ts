import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FolderView, isSettled } from "./folder-view.ts";

/** So much later no change leaves the time that the folder has now. */
const LATER_MS = 60_000;

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "belljar-view-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const sorted = (names: readonly string[]): readonly string[] => names.toSorted();
const note = (name: string): void => writeFileSync(join(folder, name), "");

it("gives the same object until a name comes or goes", () => {
  const view = new FolderView(folder, sorted, () => Date.now() + LATER_MS);
  note("one");
  const first = view.read();
  expect(first).toEqual(["one"]);
  expect(view.read()).toBe(first);
  rmSync(join(folder, "one"));
  expect(view.read()).toEqual([]);
});

it("trusts no time that a change of the same moment may leave too", () => {
  let reads = 0;
  const view = new FolderView(folder, (names) => [(reads += 1), names.length]);
  note("one");
  expect(view.read()).toEqual([1, 1]);
  expect(view.read()).toEqual([2, 1]);
});

it("is empty while there is no folder, and sees it come", () => {
  const view = new FolderView(join(folder, "late"), sorted, () => Date.now() + LATER_MS);
  expect(view.read()).toEqual([]);
  mkdirSync(join(folder, "late"));
  note("late/one");
  expect(view.read()).toEqual(["one"]);
});

it.each([
  [5_000.5, 5_090, false],
  [5_000.5, 5_110, true],
  [5_000, 7_000, false],
  [5_000, 7_200, true],
])("settles a time of %d ms at %d ms: %s, also where the file system counts in seconds", (timeMs, nowMs, expected) => {
  expect(isSettled(timeMs, nowMs)).toBe(expected);
});
