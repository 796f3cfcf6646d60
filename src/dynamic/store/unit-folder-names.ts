import { createHash } from "node:crypto";
import type { UnitId } from "./unit-store.ts";

const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;
const READABLE_CHARACTERS = 40;

/**
 * The folder for an owner or a unit. A plain text is its own folder. Any other text keeps its readable characters and gets a hash, after a
 * `~` that no plain text has. So different texts have different folders, and no text leads out of the folder above.
 */
export function folderNameOf(text: string): string {
  if (PLAIN.test(text)) return text;
  const readable = text.replaceAll(/[^A-Za-z0-9_-]+/g, "-").slice(0, READABLE_CHARACTERS);
  return `${readable}~${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}

/** The text of which this is the folder, if the folder's name alone says so. */
export function plainTextOf(folderName: string): string | undefined {
  return PLAIN.test(folderName) ? folderName : undefined;
}

/** One name for the unit's folder and its owner's. A folder's name has no `@`. */
export function unitKey({ owner, name }: UnitId): string {
  return `${folderNameOf(owner)}@${folderNameOf(name)}`;
}
