import { lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates the folder and its parents where a person named it. Throws the error of the system, `ENOTDIR` if something else is there. Node's
 * recursive `mkdir` never ends where folders cannot be created, such as in /proc, and no signal ends the process then.
 */
export function makeFoldersNow(path: string, mode: number): void {
  for (const folder of missingFolders(path)) makeFolder(folder, mode);
  if (!statSync(path).isDirectory()) throw Object.assign(new Error(`${path} is not a folder`), { code: "ENOTDIR" });
}

/** The topmost folder comes first. */
function missingFolders(path: string): readonly string[] {
  return isPresent(path) ? [] : [...missingFolders(dirname(path)), path];
}

/** Another process may create the folder first. */
function makeFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (cause) {
    if (!isPresent(path)) throw cause;
  }
}

function isPresent(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
