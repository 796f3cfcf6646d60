import { lstatSync, mkdirSync } from "node:fs";
import { BelljarError } from "../errors.ts";

/**
 * Makes the folder, and those above it, for this user alone (0700), or checks that it is so already.
 * Throws `CONFIG_INVALID` when it is a link, another user's, or open to others: in `/tmp` somebody else may have been first.
 */
export function ensurePrivateDirectory(path: string, uid = process.getuid?.() ?? 0): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new BelljarError("CONFIG_INVALID", `Cannot make the folder ${path}: choose one that this user may write`, { cause });
  }
  const found = lstatSync(path);
  if (!found.isDirectory()) throw new BelljarError("CONFIG_INVALID", `${path} is not a folder: choose another one`);
  if (found.uid !== uid)
    throw new BelljarError("CONFIG_INVALID", `${path} belongs to uid ${found.uid}, not to ${uid}: choose another folder`);
  if ((found.mode & 0o077) !== 0)
    throw new BelljarError("CONFIG_INVALID", `${path} is open to other users: run chmod 700 on it, or choose another folder`);
}

/** Throws `CONFIG_INVALID` for a folder of another user, who could turn it into something else under our feet. Need not exist yet. */
export function assertOwnDirectory(path: string, uid = process.getuid?.() ?? 0): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || found.uid === uid) return;
  throw new BelljarError("CONFIG_INVALID", `${path} belongs to uid ${found.uid}, not to ${uid}: choose another home with BELLJAR_HOME`);
}
