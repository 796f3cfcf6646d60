import { mkdtemp, readdir, readlink, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createLink, highest, listNumbers, placeLink, replaceLink } from "./numbered-links.ts";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "bj-links-"))));
afterEach(() => rm(folder, { recursive: true }));

it("gives each number to one of many callers", async () => {
  const placed = await Promise.all(Array.from({ length: 20 }, (_, index) => placeLink(join(folder, "made"), 1, `text ${index}`)));
  expect(placed.filter(Boolean)).toHaveLength(1);
  expect(await readlink(join(folder, "made/1"))).toBe(`text ${placed.indexOf(true)}`);
});

it("lists only numbers", async () => {
  for (const name of ["1", "12", "012", "0", "3.new", "x"]) await symlink("text", join(folder, name));
  expect((await listNumbers(folder)).toSorted((one, other) => one - other)).toEqual([1, 12]);
  expect(await listNumbers(join(folder, "none"))).toEqual([]);
  expect([highest([]), highest([2, 12, 3])]).toEqual([0, 12]);
});

it("does not change an existing link", async () => {
  expect([await createLink(join(folder, "a"), "old"), await createLink(join(folder, "a"), "new")]).toEqual([true, false]);
  expect(await readlink(join(folder, "a"))).toBe("old");
});

it("replaces a link, also after a writer that was killed before its rename", async () => {
  const path = join(folder, "a");
  await replaceLink(path, "old");
  await symlink("half", `${path}.new`);
  await replaceLink(path, "new");
  expect(await readlink(path)).toBe("new");
  expect(await readdir(folder)).toEqual(["a"]);
});
