import { lstatSync } from "node:fs";
import { BelljarError } from "../errors.ts";
import { errnoOf } from "../files/file-error.ts";
import { makeFoldersNow } from "../files/make-folders.ts";

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

function makeDirectories(path: string): void {
  try {
    makeFoldersNow(path, 0o700);
  } catch (cause) {
    const message =
      errnoOf(cause) === "ENOTDIR"
        ? `${path} is not a folder: choose another one`
        : `Cannot make the folder ${path}: choose one that this user may write`;
    throw new BelljarError("CONFIG_INVALID", message, { cause });
  }
}
