import { expect, it } from "vitest";
import { chooseSources } from "./choose-sources.ts";
import { MatchWork } from "./match-work.ts";
import type { SourceEntry, SourceTree } from "./source-tree.ts";

const FILE: SourceEntry = { type: "file", size: 0, mode: 0o644, mtimeNs: 0n, uid: 0, gid: 0 };
const FOLDER: SourceEntry = { ...FILE, type: "directory", mode: 0o755 };
const { signal } = new AbortController();

/** Keys that end in a slash are folders. */
function treeOf(keys: readonly string[]): SourceTree {
  const entries = keys.map((key) => [key.replace(/\/$/, ""), key.endsWith("/") ? FOLDER : FILE] as const);
  return {
    list: async () => new Map([["", FOLDER], ...entries]),
    read: () => new Blob([]).stream(),
  };
}

async function choose(tree: SourceTree, source: string, work = new MatchWork(signal)) {
  return (await chooseSources(tree, [source], { line: 2, work })).map(({ root, entries }) => [root, ...entries.keys()]);
}

it.each([
  [
    "*",
    [
      ["a", "a", "a/b", "a/b/c"],
      ["d.txt", "d.txt"],
    ],
  ],
  [
    "**",
    [
      ["a", "a", "a/b", "a/b/c"],
      ["d.txt", "d.txt"],
    ],
  ],
  ["a/*", [["a/b", "a/b", "a/b/c"]]],
  ["[c-d].*", [["d.txt", "d.txt"]]],
])("%s names the topmost that fit, with all below them", async (pattern, chosen) => {
  expect(await choose(treeOf(["a/b/c", "a/", "a/b/", "d.txt"]), pattern)).toEqual(
    chosen.map((keys) => expect.arrayContaining(keys) as string[]),
  );
});

it("a pattern that is longer than names are is refused", async () => {
  await expect(choose(treeOf(["a"]), "*?".repeat(200))).rejects.toMatchObject({ code: "DOCKERFILE_INVALID" });
});

it("patterns take no more steps than a build may, whatever the names are", async () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `${"a".repeat(200)}${index}`);
  const work = new MatchWork(signal, 1_000_000);
  await expect(choose(treeOf(names), `${"*a".repeat(100)}z`, work)).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
});

it("others have their turn while names are compared, and a build that is stopped compares no more", async () => {
  const stop = new AbortController();
  const work = new MatchWork(stop.signal);
  let compared = 0;
  const counted = Object.assign(Object.create(work) as MatchWork, {
    next: () => work.next(),
    spend: () => void ((compared += 1) === 1 && setImmediate(() => stop.abort())),
  });
  const names = Array.from({ length: 2_000 }, (_, index) => `name${index}`);
  await expect(choose(treeOf(names), "x*", counted)).rejects.toThrow("aborted");
  expect(compared).toBeLessThan(2_000);
});

it("one step copies no more than a build may, however often it names it", async () => {
  const tree = treeOf(Array.from({ length: 60_000 }, (_, index) => `f${index}`));
  const choosing = { line: 2, work: new MatchWork(signal) };
  await expect(chooseSources(tree, [".", ".", ".", "."], choosing)).rejects.toMatchObject({ code: "DOCKERFILE_INVALID" });
});
