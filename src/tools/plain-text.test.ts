import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { plainText, tellLeftOut } from "./plain-text.ts";

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
  expect(plainText(text, text.length)).toMatchObject({ text: shown });
});

it.each([
  ["one\rtwo\rthree\r", true],
  ["1%\r\u001b[K2%", true],
  ["a\r\0b\n", true],
  ["a\r\n\rb\r\r\nc\r", false],
  ["\u001b[1mred\u001b[0m\r\nline\n", false],
])("of %j it says whether text was written over (%j)", (text, isOverwritten) => {
  expect(plainText(text, text.length).leftOut).toBe(isOverwritten ? "overwritten lines left out" : undefined);
});

it("leaves out what is no text, and shows a text of another encoding", () => {
  const read = (bytes: Buffer) => plainText(bytes.toString("utf8"), bytes.length);
  const program = readFileSync(process.execPath).subarray(0, 65_536);
  expect(read(program)).toEqual({ text: "", leftOut: "65536 binary bytes left out" });
  const latin = Buffer.from("été à la plage, où nous étions très fatigués, hélas", "latin1");
  expect(read(latin)).toEqual({ text: latin.toString("utf8") });
  const beginning = Buffer.concat([Buffer.from("\u007fELF"), Buffer.alloc(300), Buffer.from([0xff, 0xfe, 0x80])]);
  expect(read(beginning).leftOut).toBe("307 binary bytes left out");
  expect(read(Buffer.from("a\0b\0c"))).toEqual({ text: "abc" });
  expect(read(Buffer.from(""))).toEqual({ text: "" });
});

it("tells each thing that is left out once, and how to see it where that is possible", () => {
  const texts = [{ text: "", leftOut: "overwritten lines left out" }, { text: "a" }, { text: "", leftOut: "overwritten lines left out" }];
  expect(tellLeftOut(texts, true)).toEqual(["overwritten lines left out; raw: true shows them"]);
  expect(tellLeftOut(texts, false)).toEqual(["overwritten lines left out"]);
});

it("works in a time that grows with the text alone", () => {
  const hostile = ["\u001b]", "\u001b[0", "\u001bP", "\r", "\u001b "].map((part) => part.repeat(1_000_000)).join("");
  expect(plainText(hostile, hostile.length).text.length).toBeLessThan(hostile.length);
});
