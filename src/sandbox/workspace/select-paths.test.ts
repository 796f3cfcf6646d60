import { describe, expect, it } from "vitest";
import { selectPaths } from "./select-paths.ts";

const KEYS = ["a.ts", "b.tsx", "src/a.ts", "src/b/c.ts", "src/b/[x].ts", "srcs/a.ts", "docs/ab.md", "docs/a\nb.md"];

const asked = (...paths: readonly string[]) => KEYS.filter((key) => selectPaths(paths).isAsked(key));

describe("the paths that are asked for", () => {
  it("are all, without any", () => {
    expect(asked()).toEqual(KEYS);
  });

  it.each<[string, string[]]>([
    ["a.ts", ["a.ts"]],
    ["src", ["src/a.ts", "src/b/c.ts", "src/b/[x].ts"]],
    ["./src//b/", ["src/b/c.ts", "src/b/[x].ts"]],
    [".", KEYS],
    ["nothing", []],
    ["*.ts", ["a.ts", "src/a.ts", "src/b/c.ts", "src/b/[x].ts", "srcs/a.ts"]],
    ["src/*.ts", ["src/a.ts"]],
    ["src/*", ["src/a.ts", "src/b/c.ts", "src/b/[x].ts"]],
    ["src/**/c.ts", ["src/b/c.ts"]],
    ["src/**/a.ts", ["src/a.ts"]],
    ["s**.ts", ["src/a.ts", "src/b/c.ts", "src/b/[x].ts", "srcs/a.ts"]],
    ["?.ts", ["a.ts", "src/a.ts", "src/b/c.ts", "srcs/a.ts"]],
    ["src?a.ts", []],
    ["src?", ["srcs/a.ts"]],
    ["[ab].ts*", ["a.ts", "b.tsx", "src/a.ts", "srcs/a.ts"]],
    ["[!a].ts*", ["b.tsx", "src/b/c.ts"]],
    ["?a*s", []],
    ["a*b.md", ["docs/ab.md", "docs/a\nb.md"]],
    ["docs/?.md", []],
    ["*(.md", []],
    ["[x", []],
    ["*[x*", ["src/b/[x].ts"]],
  ])("%j", (path, keys) => {
    expect(asked(path)).toEqual(keys);
  });

  it("are those of each path", () => {
    expect(asked("a.ts", "docs/ab.md", "srcs/*")).toEqual(["a.ts", "srcs/a.ts", "docs/ab.md"]);
  });

  it("have names of any bytes", () => {
    const key = Buffer.from("grün/ä.ts").toString("latin1");
    for (const path of ["grün", "grün/ä.ts", "grün/*", "ä.*"]) expect(selectPaths([path]).isAsked(key), path).toBe(true);
  });

  it.each(["/a", "..", "a/../b", "a\0b", "/*", "[z-a]"])("%j is refused", (path) => {
    expect(() => selectPaths([path])).toThrow(expect.objectContaining({ code: "PATH_INVALID" }));
  });
});

describe("a path is named", () => {
  const selection = selectPaths(["src/b", "*.md", "."]);

  it("by itself and by a folder that holds it, never by a pattern or by all of the workspace", () => {
    expect(["src/b", "src/b/c.ts", "src", "src/bb", "docs/ab.md", "a.ts"].filter((key) => selection.isNamed(key))).toEqual([
      "src/b",
      "src/b/c.ts",
    ]);
  });

  it("and folders above it lead into it", () => {
    expect(["src", "src/b", "src/b/c.ts", "s", "src/a.ts", "docs", "docs/ab.md"].filter((key) => selection.leadsInto(key))).toEqual([
      "src",
      "src/b",
      "src/b/c.ts",
    ]);
  });
});
