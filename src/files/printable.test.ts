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

it.each(UNSEEN)("writes out what cannot be seen, %j", (character) => {
  for (const show of [printable, printableText, printableJson]) expect(show(`a${character}b`)).toMatch(/^a\\u.*b$/);
  expect(JSON.parse(printableJson(JSON.stringify({ [character]: character })))).toEqual({ [character]: character });
});

it("leaves what can be seen, in any script", () => {
  const text = "plain ~ äöü 中文 שלום مرحبا 🙂";
  expect([printable(text), printableText(text), printableJson(text)]).toEqual([text, text, text]);
});

it("keeps lines where a text has them, and not where it is one line", () => {
  expect(printableText("a\n\tb\r\n")).toBe("a\n\tb\\u{d}\n");
  expect(printable("a\nb\tc")).toBe("a\\u{a}b\\u{9}c");
});
