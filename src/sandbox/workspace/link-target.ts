import { posix } from "node:path";
import { parentKey, toKey } from "./entry.ts";

/** Whether a link at `key` leads out of the folder that the key is relative to, by its text alone. */
export function leadsOutside(key: string, target: Buffer): boolean {
  const text = toKey(target);
  const end = posix.normalize(posix.join(parentKey(key), text));
  return text.startsWith("/") || end === ".." || end.startsWith("../");
}
