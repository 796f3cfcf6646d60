import { expect, it } from "vitest";
import { printable, printableJson, printableText } from "./printable.ts";

/** One of each kind: CSI of 7 and 8 bits, DEL, bidi override, isolate and mark, zero width, BOM, soft hyphen, tag, filler, line separator. */
const UNSEEN = [
  "\u001b",
  "\u009b",
  "\u007f",
  "\u202e",
  "\u2067",
  "\u200f",
  "\u061c",
  "\u200b",
  "\ufeff",
  "\u00ad",
  "\u{e0041}",
  "\u3164",
  "\u2028",
  "\ud800",
];

it.each(UNSEEN)("escapes the invisible character %j", (character) => {
  for (const show of [printable, printableText, printableJson]) expect(show(`a${character}b`)).toMatch(/^a\\u.*b$/);
  expect(JSON.parse(printableJson(JSON.stringify({ [character]: character })))).toEqual({ [character]: character });
});

it("leaves visible characters of any script", () => {
  const text = "plain ~ äöü 中文 שלום مرحبا 🙂";
  expect([printable(text), printableText(text), printableJson(text)]).toEqual([text, text, text]);
});

it("keeps line breaks in a text, and escapes them in a line", () => {
  expect(printableText("a\n\tb\r\n")).toBe("a\n\tb\\u{d}\n");
  expect(printable("a\nb\tc")).toBe("a\\u{a}b\\u{9}c");
});
