import { lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { BelljarError } from "../errors.ts";

/**
 * Makes the folder, and those above it, for this user alone (0700), or checks that it is so already.
 * Throws `CONFIG_INVALID` when it is a link, another user's, or open to others: in `/tmp` somebody else may have been first.
 */
export function ensurePrivateDirectory(path: string, uid = process.getuid?.() ?? 0): void {
  makeDirectories(path);
  const found = lstatSync(path);
  if (!found.isDirectory()) throw new BelljarError("CONFIG_INVALID", `${path} is not a folder: choose another one`);
  if (found.uid !== uid)
    throw new BelljarError("CONFIG_INVALID", `${path} belongs to uid ${found.uid}, not to ${uid}: choose another folder`);
  if ((found.mode & 0o077) !== 0)
    throw new BelljarError("CONFIG_INVALID", `${path} is open to other users: run chmod 700 on it, or choose another folder`);
}

/**
 * Makes the home and the folders above it, when they are not there yet.
 * Throws `CONFIG_INVALID` when it cannot be made, and for a folder of another user, who could turn it into something else under our feet.
 */
export function ensureHome(path: string, uid = process.getuid?.() ?? 0): void {
  makeDirectories(path);
  const found = lstatSync(path);
  if (found.uid !== uid)
    throw new BelljarError("CONFIG_INVALID", `${path} belongs to uid ${found.uid}, not to ${uid}: choose another home with BELLJAR_HOME`);
}

/** One folder after the other: a recursive `mkdir` of Node never ends where the file system has no room for folders, as in /proc. */
function makeDirectories(path: string): void {
  try {
    for (const folder of missingFolders(path)) makeDirectory(folder);
    if (statSync(path).isDirectory()) return;
  } catch (cause) {
    throw new BelljarError("CONFIG_INVALID", `Cannot make the folder ${path}: choose one that this user may write`, { cause });
  }
  throw new BelljarError("CONFIG_INVALID", `${path} is not a folder: choose another one`);
}

/** From the top down. */
function missingFolders(path: string): readonly string[] {
  return isPresent(path) ? [] : [...missingFolders(dirname(path)), path];
}

/** Another process may have been first. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (cause) {
    if (!isPresent(path)) throw cause;
  }
}

function isPresent(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
