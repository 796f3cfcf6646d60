/**
 * Bytes as text, one character a byte: what is no UTF-8 goes through an edit unchanged, and positions are byte positions.
 * A caller's text becomes such text through its UTF-8 bytes, so that both compare.
 */
export function toByteText(text: string | Buffer): string {
  return (typeof text === "string" ? Buffer.from(text) : text).toString("latin1");
}

export function fromByteText(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

/** For people and models; what is no UTF-8 shows as replacement characters. */
export function showByteText(text: string): string {
  return fromByteText(text).toString("utf8");
}
