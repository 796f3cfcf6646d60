/**
 * What steers a terminal or cannot be seen: control characters, marks that turn the direction of the text, and characters without a shape.
 * Who prints words of a sandbox or a caller raw lets them rewrite the lines around them.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
const ASCII = /^[ -~]*$/;

/** One line for a terminal. */
export function printable(text: string): string {
  return ASCII.test(text) ? text : text.replaceAll(UNSEEN, escapeCharacter);
}

/** The same for a text whose lines and tabs are its own. */
export function printableText(text: string): string {
  return text.replaceAll(UNSEEN, (character) => (character === "\n" || character === "\t" ? character : escapeCharacter(character)));
}

/** For JSON, which stays what it is: such characters are only written as JSON itself writes them. The breaks between its lines stay. */
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
