import { statSync } from "node:fs";
import { errnoOf } from "../../files/file-error.ts";

/** True if there is something at this path. What this user may not look for counts as there. No text is too odd to ask for. */
export function isOnHost(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    return errnoOf(cause) === "EACCES";
  }
}
