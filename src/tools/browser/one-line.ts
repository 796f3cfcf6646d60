const BREAKS = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g;

/** A text of a page as a part of one line, so that it cannot look like further lines: another error, a change, an element with a reference. */
export function oneLine(text: string): string {
  return text.replaceAll(BREAKS, String.raw`\n`);
}
