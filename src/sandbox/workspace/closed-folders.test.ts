import { describe, expect, it } from "vitest";
import { folderEntry } from "../../../test/support/workspace-entries.ts";
import type { FileInfo } from "../../runtime/guest/guest.ts";
import { ClosedFolders, findIgnoredFolders, stoppedAt } from "./closed-folders.ts";
import { GIT_STORES } from "./git-name.ts";
import { selectPaths } from "./select-paths.ts";

/** `ignored`: what git of the host ignores. Undefined: it was not asked, or there is no repository. */
function closedOf(ignored: readonly string[] | undefined, paths: readonly string[] = []): ClosedFolders {
  return new ClosedFolders(ignored && new Set(ignored), selectPaths(paths));
}

const key = (path: string): string => Buffer.from(path).toString("latin1");

describe("an ignored folder", () => {
  it("is closed, and what git does not ignore is open", () => {
    const closed = closedOf(["a/out", "cache"]);
    expect([...closed.ignored]).toEqual(["a/out", "cache"]);
    expect(["a/out", "cache", "out", "a", "b/cache"].map((folder) => closed.isClosed(folder))).toEqual([true, true, false, false, false]);
  });

  it.each([
    ["it is named", ["a/out"]],
    ["something in it is named", ["a/out/deep/file"]],
    ["a folder above it is named", ["a"]],
  ])("is open if %s", (_why, paths) => {
    const closed = closedOf(["a/out", "cache"], paths);
    expect([closed.isClosed("a/out"), closed.isClosed("cache")]).toEqual([false, true]);
    expect([...closed.ignored]).toEqual(["cache"]);
  });

  it("stays closed if only a pattern fits it", () => {
    expect(closedOf(["a/out"], ["a/*"]).isClosed("a/out")).toBe(true);
  });

  it("may be added later, unless it is named", () => {
    const closed = closedOf([], ["mine"]);
    closed.close(["late", "mine"]);
    expect([closed.isClosed("late"), closed.isClosed("mine")]).toEqual([true, false]);
  });

  it("takes with it all that lies in it, and nothing else", () => {
    const closed = closedOf(["a/out"]);
    const entries = new Map(["a", "a/out", "a/out/x", "a/out/x/y", "a/outer", "out"].map((one) => [one, one]));
    expect([...closed.without(entries).keys()]).toEqual(["a", "a/out", "a/outer", "out"]);
    expect(closedOf([]).without(entries)).toBe(entries);
  });
});

describe("a repository", () => {
  it("is closed, but at the top its configuration and its hooks", () => {
    const closed = closedOf(undefined);
    expect([".git", ".git/hooks"].map((folder) => closed.isClosed(folder))).toEqual([false, false]);
    expect([".git/objects", ".git/info", "sub/.git", "sub/.GIT"].map((folder) => closed.isClosed(folder))).toEqual([
      true,
      true,
      true,
      true,
    ]);
  });

  it("is open where it is named", () => {
    const closed = closedOf(undefined, [".git/info/exclude", "sub/.git"]);
    expect([".git/info", "sub/.git", ".git/objects", "other/.git"].map((folder) => closed.isClosed(folder))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});

describe("the names of folders that the other side does not enter", () => {
  it("are those of repositories alone, outside a repository", () => {
    expect(closedOf(undefined).names).toEqual([".git"]);
  });

  it("are the usual ones too, and those of the ignored folders, each once", () => {
    const { names } = closedOf(["a/out", "b/out", "node_modules"]);
    expect(names).toEqual(expect.arrayContaining([".git", "node_modules", "target", "out"]));
    expect(new Set(names).size).toBe(names.length);
    expect(closedOf(["a/out"], ["a/out"]).names).not.toContain("out");
  });

  it("have their characters, and are left out if they are not UTF-8", () => {
    const { names } = closedOf([key("a/ä"), "b/\u00ff"]);
    expect(names.at(-1)).toBe("ä");
  });

  it("are 64 at most", () => {
    expect(closedOf(Array.from({ length: 100 }, (_, index) => `n${index}`)).names).toHaveLength(64);
  });

  it("are none below a folder that is named, and the stores of git below the repository at the top", () => {
    const closed = closedOf(["out"], ["mine", ".git/objects/x"]);
    expect(closed.namesBelow("mine/deep")).toEqual([]);
    expect(closed.namesBelow("other")).toBe(closed.names);
    expect(closed.namesBelow(".git")).toEqual(GIT_STORES.filter((name) => name !== "objects"));
    expect(closedOf([]).namesBelow(".git")).toEqual(GIT_STORES);
  });
});

it("a list stops at folders of these names, and at no file", () => {
  const entry = (type: FileInfo["type"]): FileInfo => ({ ...folderEntry(), type }) as Partial<FileInfo> as FileInfo;
  const tree = new Map([
    ["out", entry("directory")],
    ["a/out", entry("directory")],
    ["b/out", entry("file")],
    ["outer", entry("directory")],
    [key("ä"), entry("directory")],
  ]);
  expect(stoppedAt(tree, ["out", "ä"])).toEqual(["out", "a/out", key("ä")]);
});

it("git is not asked about no folder", async () => {
  expect(await findIgnoredFolders("/nowhere", [], AbortSignal.abort())).toEqual([]);
});
