import { describe, expect, it } from "vitest";
import { createOneSandbox } from "../../../test/support/one-sandbox.ts";
import { changeOf, fileEntry, folderEntry, linkEntry, STARTED_NS } from "../../../test/support/workspace-entries.ts";
import { LOCAL } from "../sandbox.ts";
import type { HostEntry } from "./entry.ts";
import { HostFolder } from "./host-folder.ts";
import { judgeChanges } from "./judge-changes.ts";
import type { JudgeSources } from "./judge-changes.ts";

/** A path as it was when the sandbox was made, and as either side has it now. */
interface Sides {
  readonly began?: HostEntry;
  readonly inside?: HostEntry;
  readonly outside?: HostEntry;
}

const FOLDER_CHANGED = "what lies in it, or above it, was changed outside too";
const changed = { mtimeNs: 200n, ctimeNs: 200n };
const both = (entry: HostEntry): Sides => ({ began: entry, inside: entry, outside: entry });

/** Judges without a merge: the sandbox and the texts are not asked. */
async function judge(
  paths: Readonly<Record<string, Sides>>,
  options: Pick<JudgeSources, "prefer"> & { readonly isComplete?: boolean } = {},
) {
  const refuse = (): Promise<never> => Promise.reject(new TypeError("Nobody reads a content here"));
  const entries = Object.entries(paths);
  const listed = entries.flatMap(([key, { began }]) => (began ? [{ ...began, key }] : []));
  const { isComplete = true, ...rest } = options;
  const judged = await judgeChanges(
    {
      ...rest,
      base: {
        workspaceBase: async (keys) => ({
          startedNs: STARTED_NS,
          isComplete,
          entries: listed.filter(({ key }) => keys.includes(key)),
        }),
        workspaceBaseText: refuse,
      },
      applied: new Map(),
      host: new Map(entries.flatMap(([key, { outside }]) => (outside ? [[key, outside]] : []))),
      sandbox: await createOneSandbox(refuse).get(LOCAL, "a1b2c3d4"),
      folder: new HostFolder("/"),
      texts: { prepare: () => undefined, run: refuse, [Symbol.dispose]: () => undefined },
      signal: new AbortController().signal,
    },
    entries.flatMap(([key, { inside, outside }]) => changeOf(key, inside, outside) ?? []),
  );
  return {
    written: judged.changes.map(({ key, kind, isForced }) => (isForced ? `${key}: ${kind}, forced` : `${key}: ${kind}`)),
    conflicts: Object.fromEntries(judged.conflicts.map(({ change, reason }) => [change.key, reason])),
    settled: judged.settled.map(({ key }) => key),
  };
}

describe("what one side alone changed", () => {
  it.each<[string, Sides, string[]]>([
    ["a file that the sandbox changed", { ...both(fileEntry()), inside: fileEntry(changed) }, ["f: modified"]],
    ["a file that the sandbox added", { inside: fileEntry(changed) }, ["f: added"]],
    ["a file that the sandbox removed", { began: fileEntry(), outside: fileEntry() }, ["f: removed"]],
    ["a mode that the sandbox changed", { ...both(fileEntry()), inside: fileEntry({ mode: 0o755 }) }, ["f: mode_changed"]],
    ["a link that the sandbox changed", { ...both(linkEntry("a")), inside: linkEntry("b") }, ["f: modified"]],
    ["a file that the sandbox made a link", { ...both(fileEntry()), inside: linkEntry("b") }, ["f: type_changed"]],
    ["a file that the host changed", { ...both(fileEntry()), outside: fileEntry(changed) }, []],
    ["a file that the host added", { outside: fileEntry(changed) }, []],
    ["a file that the host removed", { began: fileEntry(), inside: fileEntry() }, []],
    ["a mode that the host changed", { ...both(fileEntry()), outside: fileEntry({ mode: 0o600 }) }, []],
    ["a file that the host made a link", { ...both(fileEntry()), outside: linkEntry("b") }, []],
  ])("%s", async (_, sides, written) => {
    expect(await judge({ f: sides })).toEqual({ written, conflicts: {}, settled: [] });
  });
});

describe("a conflict", () => {
  const outside = fileEntry(changed);
  it.each<[string, Sides]>([
    ["deleted inside, changed outside", { began: fileEntry(), outside }],
    ["added inside and outside", { inside: fileEntry({ mtimeNs: 300n }), outside }],
    ["changed inside, deleted outside", { began: fileEntry(), inside: fileEntry(changed) }],
    ["changed inside and outside", { began: linkEntry("a"), inside: linkEntry("b"), outside: linkEntry("c", { inode: 9n }) }],
    ["changed inside and outside", { began: fileEntry(), inside: linkEntry("b"), outside }],
    ["changed inside and outside", { began: linkEntry("a"), inside: fileEntry({ mtimeNs: 300n }), outside }],
    [
      "its mode was changed inside and outside",
      { began: fileEntry(), inside: fileEntry({ mode: 0o755 }), outside: fileEntry({ mode: 0o600 }) },
    ],
  ])("%s", async (reason, sides) => {
    expect(await judge({ f: sides })).toEqual({ written: [], conflicts: { f: reason }, settled: [] });
  });

  it("is not a mode that the host left, though it wrote the same content", async () => {
    const sides = { began: fileEntry(), inside: fileEntry({ mode: 0o755, ...changed }), outside };
    expect(await judge({ f: sides })).toEqual({ written: ["f: mode_changed"], conflicts: {}, settled: [] });
  });

  it("is what nothing proves to be unchanged outside, too", async () => {
    const reason = "nothing proves that it is unchanged outside since the sandbox was made";
    const sides = { inside: fileEntry({ mtimeNs: 300n }), outside: fileEntry(changed) };
    expect((await judge({ f: sides }, { isComplete: false })).conflicts).toEqual({ f: reason });
  });

  it("is decided for the side that the caller prefers", async () => {
    const paths = {
      a: { ...both(fileEntry()), inside: fileEntry(changed) },
      f: { inside: fileEntry({ mtimeNs: 300n }), outside },
    };
    expect(await judge(paths)).toMatchObject({ written: ["a: modified"], conflicts: { f: "added inside and outside" }, settled: [] });
    expect(await judge(paths, { prefer: "theirs" })).toEqual({
      written: ["a: modified", "f: modified, forced"],
      conflicts: {},
      settled: [],
    });
    expect(await judge(paths, { prefer: "ours" })).toEqual({ written: ["a: modified"], conflicts: {}, settled: ["f"] });
  });
});

describe("a folder that makes room for something else", () => {
  const replaced = { d: { ...both(folderEntry()), inside: fileEntry(changed) } };
  const gone = { began: fileEntry(), outside: fileEntry() };

  it("goes with all that lies in it", async () => {
    expect(await judge({ ...replaced, "d/x": gone })).toEqual({ written: ["d: type_changed", "d/x: removed"], conflicts: {}, settled: [] });
  });

  it("stays if the host put something into it, and so does all that lies in it", async () => {
    const judged = await judge({
      ...replaced,
      "d/e": { began: folderEntry(), outside: folderEntry() },
      "d/x": gone,
      "d/e/y": { outside: fileEntry() },
    });
    expect(judged).toEqual({ written: [], conflicts: { d: FOLDER_CHANGED, "d/e": FOLDER_CHANGED, "d/x": FOLDER_CHANGED }, settled: [] });
  });

  it("stays if the host changed what lies in it", async () => {
    const { conflicts } = await judge({ ...replaced, "d/x": { began: fileEntry(), outside: fileEntry(changed) } });
    expect(conflicts).toEqual({ d: FOLDER_CHANGED, "d/x": "deleted inside, changed outside" });
  });

  it("does not touch what lies beside it", async () => {
    const beside = { ...both(fileEntry()), inside: fileEntry(changed) };
    const { written, conflicts } = await judge({ ...replaced, "d/y": { outside: fileEntry() }, e: beside, "dd/x": beside });
    expect({ written, conflicts }).toEqual({ written: ["e: modified", "dd/x: modified"], conflicts: { d: FOLDER_CHANGED } });
  });
});

describe("a file that the sandbox put into a folder", () => {
  const added = { inside: fileEntry(changed) };

  it("is a conflict where the host has something else than a folder now", async () => {
    const { written, conflicts } = await judge({ d: { ...both(folderEntry()), outside: fileEntry(changed) }, "d/x": added });
    expect({ written, conflicts }).toEqual({ written: [], conflicts: { "d/x": FOLDER_CHANGED } });
  });

  it("is written where the sandbox made the folder of a file", async () => {
    const { written } = await judge({ d: { ...both(fileEntry()), inside: folderEntry() }, "d/x": added });
    expect(written).toEqual(["d: type_changed", "d/x: added"]);
  });

  it("brings back the folders above that the host removed, and no others", async () => {
    const removed = { began: folderEntry(), inside: folderEntry() };
    const { written, conflicts } = await judge({ a: removed, "a/b": removed, "a/b/x": added, "a/c": removed, d: removed });
    expect({ written, conflicts }).toEqual({ written: ["a: added", "a/b: added", "a/b/x: added"], conflicts: {} });
  });
});

describe("a folder that the sandbox removed", () => {
  const removed = (entry: HostEntry): Sides => ({ began: entry, outside: entry });

  it("goes with what lay in it", async () => {
    const paths = { d: removed(folderEntry()), "d/x": removed(fileEntry()) };
    expect((await judge(paths)).written).toEqual(["d: removed", "d/x: removed"]);
  });

  it("stays for what the host put into it, at any depth", async () => {
    const paths = {
      d: removed(folderEntry()),
      "d/e": removed(folderEntry()),
      "d/x": removed(fileEntry()),
      "d/e/y": { outside: fileEntry() },
    };
    expect((await judge(paths)).written).toEqual(["d/x: removed"]);
  });
});
