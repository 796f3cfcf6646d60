import { malformed } from "../../../protocol/fields.ts";

const LENGTH_BYTES = 4;

/** Extended attributes as `compare` lists them: names that end with a NUL, the length of the value, the value. Throws `GUEST_PROTOCOL`. */
export function parseAttributes(bytes: Buffer): ReadonlyMap<string, Buffer> {
  const found = new Map<string, Buffer>();
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0, at);
    const start = end + 1 + LENGTH_BYTES;
    if (end <= at || start > bytes.length) throw malformed("an extended attribute is cut off");
    const next = start + bytes.readUInt32BE(end + 1);
    if (next > bytes.length) throw malformed("an extended attribute runs past the end");
    found.set(bytes.toString("latin1", at, end), bytes.subarray(start, next));
    at = next;
  }
  return found;
}
