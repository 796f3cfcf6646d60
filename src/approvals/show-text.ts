import { printableText } from "../files/printable.ts";

/** A text of a model's, for the person who decides about it: all of it, with nothing that could be taken for something else or be overlooked. */
export function showText(text: string): string {
  return printableText(text);
}
