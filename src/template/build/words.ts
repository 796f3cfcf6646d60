import { parseJson } from "../../files/parse-json.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";

/** Of a list, and of what a COPY names: each source is looked for in all of the context. */
export const WORDS_MAX = 1_000;

/** Words between blanks, with their quotes as they stand. A blank in quotes or after the escape is none. */
export function splitWords(text: string, escape: string): readonly string[] {
  const words: string[] = [];
  let [word, quote] = ["", ""];
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (quote === "" && isBlank(character)) {
      if (word !== "") words.push(word);
      word = "";
      continue;
    }
    word += character;
    if (character === escape && quote !== "'") {
      at += 1;
      word += text.charAt(at);
    } else if (quote === "" && (character === "'" || character === '"')) quote = character;
    else if (character === quote) quote = "";
  }
  return word === "" ? words : [...words, word];
}

/** The words of a JSON array, or undefined: then it is the other form. */
export function parseArray(text: string): readonly string[] | undefined {
  if (!text.startsWith("[")) return undefined;
  const parsed = parseJson(text);
  return Array.isArray(parsed) && parsed.length <= WORDS_MAX && parsed.every((one) => typeof one === "string") ? parsed : undefined;
}

export interface Flags {
  readonly flags: ReadonlyMap<string, string>;
  /** In their order, also those that come several times. */
  readonly all: readonly (readonly [string, string])[];
  readonly rest: string;
}

/** `--name=value` words before all others. Throws for those that are not `known`. */
export function takeFlags(text: string, known: readonly string[], line: number): Flags {
  const all: (readonly [string, string])[] = [];
  let rest = text;
  while (rest.startsWith("--")) {
    const end = rest.search(/\s/);
    const word = end < 0 ? rest : rest.slice(0, end);
    const at = word.indexOf("=");
    const name = at < 0 ? word.slice(2) : word.slice(2, at);
    if (!known.includes(name))
      throw invalidLine(
        line,
        `--${quoted(name).slice(1, -1)} is not supported here${known.length > 0 ? `, only --${known.join(", --")}` : ""}`,
      );
    all.push([name, at < 0 ? "true" : word.slice(at + 1)]);
    rest = end < 0 ? "" : rest.slice(end).trimStart();
  }
  return { flags: new Map(all), all, rest };
}

function isBlank(character: string): boolean {
  return character === " " || character === "\t";
}
