/**
 * Characters that control a terminal or are invisible: control characters, marks for the direction of text, and characters without a
 * glyph. Text of a sandbox or a caller that is printed with them could rewrite the lines around it.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
const ASCII = /^[ -~]*$/;

/** Escapes these characters in one line for a terminal. */
export function printable(text: string): string {
  return ASCII.test(text) ? text : text.replaceAll(UNSEEN, escapeCharacter);
}

/** Does the same for a text of several lines. Line breaks and tabs stay. */
export function printableText(text: string): string {
  return text.replaceAll(UNSEEN, (character) => (character === "\n" || character === "\t" ? character : escapeCharacter(character)));
}

/** Does the same for JSON, with JSON's own escapes, so that its value does not change. Line breaks stay. */
export function printableJson(json: string): string {
  if (ASCII.test(json)) return json;
  return json.replaceAll(UNSEEN, (character) => (character === "\n" ? character : escapeUnits(character)));
}

function escapeCharacter(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function escapeUnits(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
