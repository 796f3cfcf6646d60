import { describe, expect, it } from "vitest";
import { toKey } from "./entry.ts";
import { createPathPattern } from "./path-pattern.ts";

const fits = (pattern: string, path: string): boolean => createPathPattern(pattern)(toKey(Buffer.from(path)));

describe("a pattern for paths", () => {
  it.each([
    ["*.ts", ["a.ts", "src/a.ts", "a/b/.ts", "a.ts/inner"], ["a.tsx", "ats", "src/a.js"]],
    ["src/*.ts", ["src/a.ts", "src/.ts", "src/a.ts/inner"], ["a/src/a.ts", "src/b/a.ts", "src/a.tsx"]],
    ["**/test/*.js", ["test/a.js", "a/b/test/c.js"], ["atest/a.js", "test/a/b.js"]],
    ["src/**", ["src/a", "src/a/b", "src/"], ["src", "a/src/b"]],
    ["src/**/b", ["src/b", "src/a/b", "src/a/a/b", "src/b/c"], ["src/ab", "b"]],
    ["a**z", ["az", "a/b/z", "x/abz"], ["a/b/zy", "za"]],
    ["?.md", ["a.md", "ä.md", "日.md"], ["ab.md", ".md"]],
    ["a?b", ["axb"], ["a/b"]],
    ["[a-cx].md", ["b.md", "x.md", "d/a.md"], ["d.md", "-.md"]],
    ["[!a-c]", ["d", "é"], ["a", "ab"]],
    ["x[^y]z", ["xaz"], ["xyz", "x/z"]],
    ["[äö]*", ["äpfel", "öl"], ["apfel"]],
    ["[!]", ["!"], ["a"]],
    ["[a", ["[a"], ["a"]],
    ["a[]*", ["a[]", "a[]b"], ["a"]],
    ["(a|b)+.^$\\*", ["(a|b)+.^$\\", "(a|b)+.^$\\c"], ["a"]],
    ["*", ["a", "a/b", "\n"], []],
  ])("%s", (pattern, fitting, others) => {
    for (const path of fitting) expect(fits(pattern, path), path).toBe(true);
    for (const path of others) expect(fits(pattern, path), path).toBe(false);
  });

  it("fits names that are no UTF-8", () => {
    expect(createPathPattern("a?b*")("a\u00FFbc")).toBe(true);
    expect(createPathPattern("a?c")("a\u00FFbc")).toBe(false);
  });

  it("takes no time that grows faster than both lengths together", () => {
    const deep = "a/".repeat(1_000);
    expect(fits(`${"**/".repeat(500)}b`, deep)).toBe(false);
    expect(fits(`${"**a".repeat(500)}b`, deep)).toBe(false);
    expect(fits(`${"*a".repeat(1_000)}b`, "a".repeat(2_000))).toBe(false);
    expect(fits(`${"*".repeat(4_000)}b`, "a".repeat(4_000))).toBe(false);
    expect(fits("[a".repeat(2_000), "a".repeat(2_000))).toBe(false);
  });

  it("takes few steps for a path that begins in another way, and no more than both lengths allow for any", () => {
    const count = (pattern: string, path: string): number => {
      let steps = 0;
      createPathPattern(pattern, (more) => (steps += more))(path);
      return steps;
    };
    expect(count(`/z${"*a".repeat(100)}`, `/${"a".repeat(200)}`)).toBeLessThan(10);
    expect(count("/*z", `/${"a".repeat(200)}`)).toBeLessThan(1_000);
    for (const pattern of [`/${"*?".repeat(100)}z`, `/${"*a".repeat(100)}z`, `${"**/".repeat(60)}z`])
      expect(count(pattern, `/${"a".repeat(200)}`)).toBeLessThan(4 * 200 * 200);
  });

  it.each(["[z-a]*", "*".repeat(5_000)])("refuses %s", (pattern) => {
    expect(() => createPathPattern(pattern)).toThrow(expect.objectContaining({ code: "PATH_INVALID" }));
  });
});
