import { expect, it } from "vitest";
import { parseGlob } from "./glob.ts";

it.each([
  ["*.ts", ["a.ts", "src/a.ts", ".ts"], ["a.tsx", "a.ts/b"]],
  ["node_modules", ["node_modules", "a/node_modules"], ["node_modules/a", "xnode_modules"]],
  ["build/", ["build"], ["builds"]],
  ["src/*.ts", ["src/a.ts"], ["src/b/a.ts", "a/src/a.ts"]],
  ["/src", ["src"], ["a/src"]],
  ["src/**/a.ts", ["src/a.ts", "src/b/c/a.ts"], ["src/ba.ts", "src/b/xa.ts"]],
  ["src/**", ["src/a", "src/a/b"], ["src", "srca"]],
  ["**", ["a", "a/b"], []],
  ["a?c", ["abc", "aéc", "a😀c"], ["ac", "a/c"]],
  ["[a-c].md", ["b.md"], ["d.md", "-.md"]],
  ["[!a-c]x", ["dx"], ["ax", "/x"]],
  ["*.{js,{ts,tsx}}", ["a.js", "a.ts", "a.tsx"], ["a.jsx", "a.{js"]],
  ["\\*.ts", ["*.ts"], ["a.ts"]],
  ["a[b", ["a[b"], ["ab"]],
  ["a{b", ["a{b"], ["ab"]],
])("%s", (pattern, matching, others) => {
  const glob = parseGlob(pattern);
  expect(matching.filter((path) => !glob?.matches(path))).toEqual([]);
  expect(others.filter((path) => glob?.matches(path))).toEqual([]);
});

it("takes no long time for any pattern", () => {
  const glob = parseGlob(`${"*a".repeat(200)}b`);
  expect(glob?.matches("a".repeat(4_000))).toBe(false);
});

it("refuses patterns with too many alternatives or parts", () => {
  expect(parseGlob("{a,b}".repeat(7))).toBeUndefined();
  expect(parseGlob("a".repeat(1_000))).toBeUndefined();
});
