const [QUOTE, COMMA, BRACKET, BRACE, BACKSLASH] = [0x22, 0x2c, 0x5b, 0x7b, 0x5c] as const;

/** Whether a text that may be JSON has more than `max` values, told before it is parsed. Linear, and looks no further than it must. */
export function jsonHasMoreValues(text: string, max: number): boolean {
  let count = 1;
  for (let at = 0; at < text.length && count <= max; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA || code === BRACKET || code === BRACE) count += 1;
  }
  return count > max;
}

/** Where the string that begins at `start` ends; one without an end ends with the text. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
