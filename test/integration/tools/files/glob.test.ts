import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Token } from "../../../../src/tools/files/glob.ts";
import { countParts, parseGlob } from "../../../../src/tools/files/glob.ts";
import { GlobMatcher } from "../../../../src/tools/files/glob-matcher.ts";
import { createIgnore } from "../../../../src/tools/files/list-directory.ts";

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
  const { matches } = matcherOf(pattern);
  expect(matching.filter((path) => !matches(path))).toEqual([]);
  expect(others.filter(matches)).toEqual([]);
});

function matcherOf(...patterns: readonly string[]) {
  const matcher = new GlobMatcher(patterns.map((pattern) => parseGlob(pattern) ?? []));
  return { matches: (path: string) => matcher.matches(path) };
}

it("matches many patterns at once as it matches each", () => {
  const char = fc.constantFrom("a", "b", "/", ".", "é", "😀");
  const part = fc.oneof(char, fc.constantFrom("*", "**", "**/", "?", "[a-b]", "[!a]", "{a,b/}", "\\"));
  const text = (of: fc.Arbitrary<string>, maxLength: number) => fc.array(of, { minLength: 1, maxLength }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(text(part, 8), { minLength: 1, maxLength: 12 }), text(char, 10), (patterns, path) => {
      expect(matcherOf(...patterns).matches(path)).toBe(patterns.some((pattern) => matcherOf(pattern).matches(path)));
    }),
    { numRuns: 2_000 },
  );
});

it("matches single patterns as a plain search for a way through them does", () => {
  const char = fc.constantFrom("a", "b", "/");
  const part = fc.oneof(char, fc.constantFrom("*", "**", "**/", "?", "[a-b]", "[!a]"));
  const text = (of: fc.Arbitrary<string>, maxLength: number) => fc.array(of, { minLength: 1, maxLength }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text(part, 8), text(char, 8), (pattern, path) => {
      const [tokens = []] = parseGlob(pattern) ?? [];
      expect(matcherOf(pattern).matches(path)).toBe(leadsThrough(tokens, path, true));
    }),
    { numRuns: 5_000 },
  );
});

/** What a pattern means, tried in all ways. */
function leadsThrough([token, ...rest]: readonly Token[], path: string, startsName: boolean): boolean {
  if (!token) return path === "";
  const isFree = token.kind === "star" || token.kind === "rest" || (token.kind === "folders" && startsName);
  if (isFree && leadsThrough(rest, path, startsName)) return true;
  const [char, after] = [path[0], path.slice(1)];
  if (char === undefined) return false;
  const isSlash = char === "/";
  if (token.kind === "folders" || token.kind === "rest" || (token.kind === "star" && !isSlash))
    return leadsThrough([token, ...rest], after, isSlash);
  const code = char.codePointAt(0) ?? 0;
  const isTaken =
    token.kind === "text"
      ? token.char === char
      : !isSlash && (token.kind !== "set" || token.ranges.some(([from, to]) => code >= from && code <= to) !== token.isNegated);
  return isTaken && token.kind !== "star" && leadsThrough(rest, after, isSlash);
}

it("ignores what lies below a folder that matches, in any order of the entries", () => {
  const isIgnored = createIgnore(["node_modules", "build/*.o"]);
  const paths = ["src", "src/a", "node_modules", "node_modules/x/y", "src/node_modules/z", "src/b", "build/a.o", "build/x/a.o", "src/node"];
  const ignored = ["node_modules", "node_modules/x/y", "src/node_modules/z", "build/a.o"];
  expect(paths.filter(isIgnored)).toEqual(ignored);
  expect(paths.toReversed().filter(isIgnored)).toEqual(ignored.toReversed());
});

it("refuses patterns with too many alternatives, and counts the parts of the others", () => {
  expect(parseGlob("{a,b}".repeat(7))).toBeUndefined();
  expect(parseGlob(`${"a".repeat(900)}{b,c,d,e,f}`)).toBeUndefined();
  expect(countParts(parseGlob("a[b-c][!d]*") ?? [])).toBe(8);
});
