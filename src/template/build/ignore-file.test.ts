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
  const isKept = createIgnore(text);
  expect(left.filter((key) => isKept(key))).toEqual([]);
  expect(kept.filter((key) => !isKept(key))).toEqual([]);
});
