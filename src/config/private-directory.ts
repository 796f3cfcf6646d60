import { lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { BelljarError } from "../errors.ts";

/**
 * Creates the folder and its parents with mode 0700, or checks that only this user can open the existing folder.
 * Throws `CONFIG_INVALID` for a link, a folder of another user, or a folder open to others: in `/tmp` another user may create it first.
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
 * Creates the home and its parents if they do not exist.
 * Throws `CONFIG_INVALID` if it cannot create them, or if the home belongs to another user, who could replace its content at any time.
 */
export function ensureHome(path: string, uid = process.getuid?.() ?? 0): void {
  makeDirectories(path);
  const found = lstatSync(path);
  if (found.uid !== uid)
    throw new BelljarError("CONFIG_INVALID", `${path} belongs to uid ${found.uid}, not to ${uid}: choose another home with BELLJAR_HOME`);
}

/** Creates one folder after the other. Node's recursive `mkdir` never ends where folders cannot be created, such as in /proc. */
function makeDirectories(path: string): void {
  try {
    for (const folder of missingFolders(path)) makeDirectory(folder);
    if (statSync(path).isDirectory()) return;
  } catch (cause) {
    throw new BelljarError("CONFIG_INVALID", `Cannot make the folder ${path}: choose one that this user may write`, { cause });
  }
  throw new BelljarError("CONFIG_INVALID", `${path} is not a folder: choose another one`);
}

/** The topmost folder comes first. */
function missingFolders(path: string): readonly string[] {
  return isPresent(path) ? [] : [...missingFolders(dirname(path)), path];
}

/** Another process may create the folder first. */
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
