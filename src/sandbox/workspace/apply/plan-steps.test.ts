import { expect, it } from "vitest";
import { changeOf, fileEntry, folderEntry, linkEntry } from "../../../../test/support/workspace-entries.ts";
import type { HostEntry } from "../entry.ts";
import { planSteps } from "./plan-steps.ts";

type Sides = readonly [guest: HostEntry | undefined, host: HostEntry | undefined];

const [file, other] = [fileEntry(), fileEntry({ size: 2 })];
const staged = fileEntry({ inode: 99n });

/** The steps for these paths, which are in order, as `kind path`. What is put at a path is staged under that path. */
function plan(paths: Readonly<Record<string, Sides>>) {
  const changes = Object.entries(paths).flatMap(([key, sides]) => changeOf(key, ...sides) ?? []);
  const files = changes.flatMap(({ key, guest }) =>
    guest && guest.type !== "directory" ? [[key, { path: Buffer.from(`staged/${key}`), after: staged }] as const] : [],
  );
  let old = 0;
  return planSteps(changes, { files: new Map(files), nextOld: () => Buffer.from(`old/${++old}`) });
}

const shown = (paths: Readonly<Record<string, Sides>>) => plan(paths).map(({ kind, key }) => `${kind} ${key}`);

it("a new file is placed, a changed one after the old one is taken away, a removed one is taken away", () => {
  expect(plan({ a: [file, undefined], b: [file, other], c: [undefined, other] })).toEqual([
    { kind: "place", key: "a", staged: "staged/a", after: staged },
    { kind: "take", key: "b", old: "old/1", before: other },
    { kind: "place", key: "b", staged: "staged/b", after: staged },
    { kind: "take", key: "c", old: "old/2", before: other },
  ]);
});

it("a changed mode is set, and nothing is placed", () => {
  const [wide, narrow] = [fileEntry({ mode: 0o755 }), fileEntry({ mode: 0o600 })];
  expect(plan({ a: [wide, narrow] })).toEqual([{ kind: "mode", key: "a", mode: 0o755, before: narrow }]);
  expect(plan({ d: [folderEntry({ mode: 0o700 }), folderEntry()] })).toEqual([
    { kind: "mode", key: "d", mode: 0o700, before: folderEntry() },
  ]);
});

it("folders are made from above and get their modes from below, when all that lies in them is written", () => {
  const closed = folderEntry({ mode: 0o500 });
  expect(shown({ d: [closed, undefined], "d/e": [closed, undefined], "d/e/f": [file, undefined] })).toEqual([
    "make d",
    "make d/e",
    "place d/e/f",
    "mode d/e",
    "mode d",
  ]);
  expect(plan({ d: [closed, undefined] })).toEqual([
    { kind: "make", key: "d" },
    { kind: "mode", key: "d", mode: 0o500 },
  ]);
});

it("links come after all folders and files, and have no mode", () => {
  const link = linkEntry("z");
  expect(shown({ a: [link, undefined], b: [link, linkEntry("y")], c: [file, undefined], d: [folderEntry(), undefined] })).toEqual([
    "place c",
    "make d",
    "place a",
    "take b",
    "place b",
    "mode d",
  ]);
});

it("what goes goes last, and what lies in a folder before the folder", () => {
  expect(
    shown({ a: [undefined, folderEntry()], "a/b": [undefined, folderEntry()], "a/b/c": [undefined, file], d: [file, undefined] }),
  ).toEqual(["place d", "take a/b/c", "unmake a/b", "unmake a"]);
  expect(plan({ a: [undefined, folderEntry()] })).toEqual([{ kind: "unmake", key: "a", before: folderEntry() }]);
});

it("what makes room for something of another type goes first, with all below it", () => {
  const paths: Record<string, Sides> = {
    a: [file, undefined],
    d: [file, folderEntry()],
    "d/e": [undefined, folderEntry()],
    "d/e/f": [undefined, file],
    g: [undefined, file],
    h: [folderEntry(), file],
    "h/i": [file, undefined],
  };
  expect(shown(paths)).toEqual([
    "take h",
    "take d/e/f",
    "unmake d/e",
    "unmake d",
    "place a",
    "place d",
    "make h",
    "place h/i",
    "mode h",
    "take g",
  ]);
});
