import { describe, expect, it } from "vitest";
import { fileEntry, folderEntry, linkEntry } from "../../../test/support/workspace-entries.ts";
import type { HostEntry } from "./entry.ts";
import { isSameEntry, isSameFile, isUntouched } from "./stamp.ts";

const file = fileEntry();
/** A file with one fact that differs. */
const OTHERS = {
  type: linkEntry("a", { ...file, type: "link" } as Partial<HostEntry>),
  inode: fileEntry({ inode: 9n }),
  mode: fileEntry({ mode: 0o600 }),
  size: fileEntry({ size: 9 }),
  mtimeNs: fileEntry({ mtimeNs: 9n }),
  ctimeNs: fileEntry({ ctimeNs: 9n }),
  uid: fileEntry({ uid: 9 }),
};

/** Which facts tell it from the file. */
const told = (isEqual: (one: HostEntry, other: HostEntry) => boolean) =>
  Object.entries(OTHERS).flatMap(([fact, other]) => (isEqual(file, other) ? [] : [fact]));

describe("two looks at an entry of the host", () => {
  it("are at the same file unless what it is or has differs", () => {
    expect(isSameFile(file, fileEntry())).toBe(true);
    expect(told(isSameFile)).toEqual(["type", "inode", "size", "mtimeNs"]);
  });

  it("show an untouched file if nothing but the owner differs", () => {
    expect(isUntouched(file, fileEntry())).toBe(true);
    expect(told(isUntouched)).toEqual(["type", "inode", "mode", "size", "mtimeNs", "ctimeNs"]);
  });

  it("do not tell a folder by what was put into it", () => {
    const filled = folderEntry({ size: 9, mtimeNs: 9n, ctimeNs: 9n });
    expect([isSameFile(folderEntry(), filled), isUntouched(folderEntry(), filled), isSameEntry(folderEntry(), filled)]).toEqual([
      true,
      true,
      true,
    ]);
    expect(isUntouched(folderEntry(), folderEntry({ mode: 0o700 }))).toBe(false);
    expect(isSameFile(folderEntry(), folderEntry({ inode: 9n }))).toBe(false);
  });
});

describe("an entry of a sandbox", () => {
  it("is as it began unless type, mode, size or time differ", () => {
    expect(isSameEntry(file, fileEntry())).toBe(true);
    expect(told(isSameEntry)).toEqual(["type", "mode", "size", "mtimeNs"]);
    expect(isSameEntry(folderEntry(), folderEntry({ mode: 0o700 }))).toBe(false);
  });

  it("that was not there is as it began if it is not there", () => {
    expect([isSameEntry(undefined, undefined), isSameEntry(file, undefined), isSameEntry(undefined, file)]).toEqual([true, false, false]);
  });

  it("is told by its text alone if it is a link", () => {
    expect(isSameEntry(linkEntry("a"), linkEntry("a", { mode: 0, mtimeNs: 9n, size: 9 }))).toBe(true);
    expect(isSameEntry(linkEntry("a"), linkEntry("b"))).toBe(false);
    const { target: _, ...bare } = linkEntry("");
    expect([isSameEntry(linkEntry("a"), bare), isSameEntry(bare, linkEntry("a"))]).toEqual([false, false]);
  });
});
