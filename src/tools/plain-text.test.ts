import { expect, it } from "vitest";
import { plainText } from "./plain-text.ts";

it.each([
  ["\u001b[1;31mred\u001b[0m\n", "red\n"],
  ["\u001b]0;title\u0007shown \u001b]8;;http://a\u001b\\link\u001b]8;;\u001b\\", "shown link"],
  ["\u001b(B\u001b7\u001b[?25lx\u001b[?25h", "x"],
  ["\u001bPdata\u001b\\y", "y"],
  ["1%\r50%\r100%\ndone", "100%\ndone"],
  ["1%\r100%\r\ndone\r\n", "100%\ndone\n"],
  ["spins\r\r", "spins"],
  ["a\0b\u0008c\td\n", "abc\td\n"],
  ["grüezi €\n", "grüezi €\n"],
])("%j is shown as %j", (text, shown) => {
  expect(plainText(text).text).toBe(shown);
});

it.each([
  ["one\rtwo\rthree\r", true],
  ["1%\r\u001b[K2%", true],
  ["a\r\0b\n", true],
  ["a\r\n\rb\r\r\nc\r", false],
  ["\u001b[1mred\u001b[0m\r\nline\n", false],
])("of %j it says whether text was written over (%j)", (text, isOverwritten) => {
  expect(plainText(text).isOverwritten).toBe(isOverwritten);
});

it("works in a time that grows with the text alone", () => {
  const hostile = ["\u001b]", "\u001b[0", "\u001bP", "\r", "\u001b "].map((part) => part.repeat(1_000_000)).join("");
  expect(plainText(hostile).text.length).toBeLessThan(hostile.length);
});
