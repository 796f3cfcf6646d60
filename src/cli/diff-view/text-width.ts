import { eastAsianWidth } from "get-east-asian-width";

const MARK = /^\p{M}$/u;
const TAB = 8;

/** How many columns of a terminal a printable text takes. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** The rows that a text takes in a column of a terminal: at least one. Tabs become spaces. */
export function toRows(text: string, width: number): readonly string[] {
  const rows: string[] = [];
  let [row, used] = ["", 0];
  for (const character of expandTabs(text)) {
    const wide = characterWidth(character);
    if (used + wide > width) {
      rows.push(row);
      [row, used] = ["", 0];
    }
    row += character;
    used += wide;
  }
  return [...rows, row];
}

/** Filled with spaces up to this width. */
export function padTo(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - textWidth(text)));
}

/** Cut at its start, as git does with long names. */
export function shortenTo(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  const kept: string[] = [];
  let left = width - "...".length;
  for (const character of Array.from(text).toReversed()) {
    left -= characterWidth(character);
    if (left < 0) break;
    kept.unshift(character);
  }
  return `...${kept.join("")}`;
}

function expandTabs(text: string): string {
  if (!text.includes("\t")) return text;
  let [expanded, used] = ["", 0];
  for (const character of text) {
    const added = character === "\t" ? " ".repeat(TAB - (used % TAB)) : character;
    expanded += added;
    used += character === "\t" ? added.length : characterWidth(character);
  }
  return expanded;
}

function characterWidth(character: string): number {
  return MARK.test(character) ? 0 : eastAsianWidth(character.codePointAt(0) ?? 0);
}
