import { describe, expect, it } from "vitest";
import { commandHelp, mainHelp } from "../help.ts";
import { COMMANDS } from "../command-table.ts";
import { wrapText } from "./wrap-text.ts";

const LABELLED = "  --colour NAME  One of red, green and blue, as the terminal shows them";

describe("a text for a terminal", () => {
  it("is left as it is without one, and where it fits", () => {
    expect(wrapText(LABELLED, undefined)).toBe(LABELLED);
    expect(wrapText(LABELLED, LABELLED.length)).toBe(LABELLED);
  });

  it("goes on below the text beside a label", () => {
    expect(wrapText(LABELLED, 45)).toBe(
      ["  --colour NAME  One of red, green and blue,", "                 as the terminal shows them"].join("\n"),
    );
  });

  it("stands below a label that leaves too little room, though a short text would fit beside it", () => {
    expect(wrapText(`${LABELLED}\n  --json         Print JSON`, 40)).toBe(
      ["  --colour NAME", "      One of red, green and blue, as the", "      terminal shows them", "  --json", "      Print JSON"].join(
        "\n",
      ),
    );
  });

  it("keeps its indentation, unless that leaves too little room", () => {
    expect(wrapText(`   ${"word ".repeat(9)}end`, 40)).toBe(`   ${"word ".repeat(7).trim()}\n   word word end`);
    expect(wrapText(`${" ".repeat(30)}-> ${"word ".repeat(9)}end`, 40)).toBe(`    -> ${"word ".repeat(6).trim()}\n    word word word end`);
  });

  it("keeps a long word whole, and is never narrower than 40 columns", () => {
    const path = `/${"x".repeat(60)}`;
    expect(wrapText(`See ${path} now`, 40)).toBe(`See\n${path}\nnow`);
    expect(wrapText("word ".repeat(9).trim(), 10)).toBe(wrapText("word ".repeat(9).trim(), 40));
  });
});

it("keeps every help within 40, 60, 80 and 100 columns, without losing a word", () => {
  for (const text of [mainHelp(), ...COMMANDS.map(commandHelp)])
    for (const columns of [40, 60, 80, 100]) {
      const wrapped = wrapText(text, columns);
      expect(wrapped.split("\n").filter((line) => line.length > columns && line.trim().includes(" "))).toEqual([]);
      expect(wrapped.split(/\s+/)).toEqual(text.split(/\s+/));
    }
});
