import { createHash } from "node:crypto";

/** What the first line of a segment is chained to. */
export const FIRST_PREVIOUS = "0".repeat(64);

/** The hash of a line: it covers all lines before it. */
export function chain(previous: string, body: string): string {
  return createHash("sha256").update(previous).update(body).digest("hex");
}
