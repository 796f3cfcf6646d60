import { BelljarError } from "../../errors.ts";

/** A quoted part, in which nothing but `\"` and `\\` of double quotes means anything else, or a part without spaces and quotes. */
const PART = /'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\s'"]+)/y;

/** Splits a line into words as a shell does, without any of its variables. Throws `USAGE` for a quote that does not end. */
export function splitWords(line: string): readonly string[] {
  const words: string[] = [];
  let at = 0;
  let isInside = false;
  while (at < line.length) {
    PART.lastIndex = at;
    const [part, single, double, plain] = PART.exec(line) ?? [];
    if (part === undefined) {
      if (!/\s/.test(line[at] ?? "")) throw new BelljarError("USAGE", "A quote does not end");
      isInside = false;
      at += 1;
      continue;
    }
    const text = single ?? plain ?? (double ?? "").replaceAll(/\\(["\\])/g, "$1");
    words.push(isInside ? `${words.pop() ?? ""}${text}` : text);
    isInside = true;
    at += part.length;
  }
  return words;
}
