import { expect, it } from "vitest";
import { mergeTexts } from "./merge-text.ts";

function merge(base: string, ours: string, theirs: string): string | undefined {
  const bytes = (text: string): Buffer => Buffer.from(text.replaceAll(" ", "\n"), "latin1");
  return mergeTexts({ base: bytes(base), ours: bytes(ours), theirs: bytes(theirs) })
    .merged?.toString("latin1")
    .replaceAll("\n", " ");
}

it.each([
  ["different lines", "a b c d e ", "A b c d e ", "a b c d E ", "A b c d E "],
  ["the same change", "a b c ", "a B c ", "a B c ", "a B c "],
  ["one side alone", "a b c ", "a b c ", "a c ", "a c "],
  ["lines that one added and the other deleted elsewhere", "a b c d e ", "a new b c d e ", "a b c d ", "a new b c d "],
  ["an end without a newline", "a b c d", "A b c d", "a b c D", "A b c D"],
  ["bytes that are no text", "\u00ff b c d \u00fe ", "\u00fd b c d \u00fe ", "\u00ff b c d \u00fc ", "\u00fd b c d \u00fc "],
  ["from nothing", "", "", "a ", "a "],
  ["to nothing", "a b ", "a b ", "", ""],
])("merges %s", (_, base, ours, theirs, merged) => {
  expect(merge(base, ours, theirs)).toBe(merged);
  expect(merge(base, theirs, ours)).toBe(merged);
});

it.each([
  ["the same line", "a b c ", "a B c ", "a X c "],
  ["lines beside each other", "a b c d ", "a B c d ", "a b C d "],
  ["a line that the other deleted", "a b c ", "a B c ", "a c "],
  ["what both added at one place", "a b ", "a 1 b ", "a 2 b "],
  ["the end, with and without a newline", "a b", "a b ", "a c"],
  ["texts from nothing", "", "a ", "b "],
])("finds a conflict in %s", (_, base, ours, theirs) => {
  expect(merge(base, ours, theirs)).toBeUndefined();
  expect(merge(base, theirs, ours)).toBeUndefined();
});

it("merges nothing that differs too much", () => {
  const lines = (from: number): string => Array.from({ length: 5_000 }, (_, index) => `${from + index} `).join("");
  expect(merge(lines(0), lines(10_000), `${lines(0)}x `)).toBeUndefined();
});
