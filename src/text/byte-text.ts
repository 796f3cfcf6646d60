/**
 * Converts bytes to text with one character for each byte. Bytes that are not UTF-8 pass an edit unchanged, and positions are byte
 * positions. A caller's text is converted through its UTF-8 bytes, so that it can be compared.
 */
export function toByteText(text: string | Buffer): string {
  return (typeof text === "string" ? Buffer.from(text) : text).toString("latin1");
}

export function fromByteText(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

/** Decodes byte text for people and models. Bytes that are not UTF-8 become replacement characters. */
export function showByteText(text: string): string {
  return fromByteText(text).toString("utf8");
}
