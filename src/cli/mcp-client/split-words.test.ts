import { expect, it } from "vitest";
import { splitWords } from "./split-words.ts";

it.each([
  ["", []],
  ["  call  a\tb ", ["call", "a", "b"]],
  [`text="a b" c='d "e"'`, ["text=a b", 'c=d "e"']],
  [`'{"a": 1}' "x\\"y\\\\z\\n"`, ['{"a": 1}', 'x"y\\z\\n']],
  [`"" ''`, ["", ""]],
  ["$HOME `x` a\\b", ["$HOME", "`x`", "a\\b"]],
])("splits %j", (line, words) => {
  expect(splitWords(line)).toEqual(words);
});

it.each(["'a", 'b "c', 'a"'])("refuses %j, whose quote does not end", (line) => {
  expect(() => splitWords(line)).toThrow("A quote does not end");
});
