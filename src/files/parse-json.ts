/** Returns the value, or undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Whether this is what a power cut leaves of a file that was not flushed: nothing, zeros, or the blanks that kept its room. */
export function isUnflushed(text: string): boolean {
  return text.replaceAll("\0", "").trim() === "";
}
