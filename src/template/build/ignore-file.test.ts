import { expect, it } from "vitest";
import { createIgnore } from "./ignore-file.ts";

it.each([
  ["node_modules", ["node_modules", "node_modules/a"], ["src/node_modules", "node_modules2"]],
  ["/a/", ["a", "a/b"], ["b/a"]],
  ["**/*.log", ["x.log", "a/b/x.log"], ["x.logs"]],
  ["*\n!kept\n!dir/file", ["a", "dir", "dir/other"], ["kept", "kept/x", "dir/file"]],
  ["kept\n!kept\nkept/not", ["kept/not"], ["kept", "kept/x"]],
  ["# comment\n\n  spaced  \r\n./dot", ["spaced", "dot"], ["comment", "# comment"]],
])("of %j leaves out %j and keeps %j", (text, left, kept) => {
  const isKept = createIgnore(text, { spend: () => undefined });
  expect(left.filter((key) => isKept(key))).toEqual([]);
  expect(kept.filter((key) => !isKept(key))).toEqual([]);
});

it.each([
  ["many patterns", "a\n".repeat(257)],
  ["a long pattern", "a".repeat(257)],
  ["many long patterns", `${"a".repeat(200)}\n`.repeat(42)],
])("with %s is refused", (_what, text) => {
  expect(() => createIgnore(text, { spend: () => undefined })).toThrow(expect.objectContaining({ code: "FILE_TOO_LARGE" }));
});

it("tells what its patterns take", () => {
  let steps = 0;
  const isKept = createIgnore("*z\n".repeat(200), { spend: (more) => (steps += more) });
  expect(isKept("file")).toBe(true);
  expect(steps).toBeGreaterThan(200);
  expect(steps).toBeLessThan(200 * 40);
});
