import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import type { GuestFiles } from "../../sandbox/sandbox.ts";
import type { ChosenSource } from "./choose-sources.ts";
import { placeCopies, type Placing } from "./place-copies.ts";
import type { SourceEntry } from "./source-tree.ts";

const ENTRY: SourceEntry = { type: "file", size: 3, mode: 0o644, mtimeNs: 0n, uid: 0, gid: 0 };
const FOLDER: SourceEntry = { ...ENTRY, type: "directory", size: 0, mode: 0o700 };

/** Of a folder, whose files come in this order. */
function treeOf(files: readonly string[]): ChosenSource {
  return { root: "", entries: new Map([["", FOLDER], ...files.map((key) => [key, key.endsWith("d") ? FOLDER : ENTRY] as const)]) };
}

/** Into an empty sandbox, which tells of each path that is looked at. */
function into(destination: string, told: (path: string) => void = () => undefined): Placing {
  const stat = async (path: Buffer): Promise<never> => {
    told(path.toString());
    throw new BelljarError("FILE_NOT_FOUND", "nothing is there");
  };
  return { files: { stat } as unknown as GuestFiles, line: 1, signal: new AbortController().signal, destination, isFirst: false };
}

it("each folder above an entry stands before it, whatever the order is", async () => {
  const placed = await placeCopies([treeOf(["d/d/file", "d/d", "d/other", "d"])], into("/to/the/"));
  const keys = placed.map(({ key }) => key);
  expect(keys).toEqual(["to", "to/the", "to/the/d", "to/the/d/d", "to/the/d/d/file", "to/the/d/other"]);
  for (const key of ["to/the/d", "to/the/d/d"]) expect(placed.find((one) => one.key === key)?.mode).toBe(0o700);
});

it("of two files in one place the last one holds", async () => {
  const second = { root: "x", entries: new Map([["x", { ...ENTRY, mode: 0o600 }]]) };
  const placed = await placeCopies([{ root: "a/x", entries: new Map([["a/x", ENTRY]]) }, second], into("/to/"));
  expect(placed.map(({ key, mode, source }) => [key, mode, source])).toEqual([
    ["to", 0o755, undefined],
    ["to/x", 0o600, "x"],
  ]);
});

it("others are served while very many files find their places", async () => {
  let [turns, before, ended] = [0, -1, false];
  const count = (): void => {
    turns += 1;
    if (!ended) setImmediate(count);
  };
  setImmediate(count);
  const files = Array.from({ length: 20_000 }, (_, at) => `${at}`);
  await placeCopies(
    [treeOf(files)],
    into("/to/", (path) => void (before = path === "/to/0" ? turns : before)),
  );
  ended = true;
  expect(before).toBeGreaterThan(files.length / 256 - 2);
});
