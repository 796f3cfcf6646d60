import { mkdir, readdir, rename, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, fileError, ifPresent } from "./file-error.ts";

/**
 * Creates a symbolic link with a number as its name and `text` as its content. A link appears whole, so if several processes place
 * number n, one wins without a lock. Returns false if another process has the number.
 */
export async function placeLink(folder: string, number: number, text: string): Promise<boolean> {
  const path = join(folder, String(number));
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw fileError(folder, cause);
  }
  return createLink(path, text);
}

/** Returns false if the link exists already. Its text then stays. */
export async function createLink(path: string, text: string): Promise<boolean> {
  try {
    await symlink(text, path);
    return true;
  } catch (cause) {
    if (errnoOf(cause) === "EEXIST") return false;
    throw fileError(path, cause);
  }
}

/** Readers see the old text or the new one. Each link must have only one writing process. */
export async function replaceLink(path: string, text: string): Promise<void> {
  const fresh = `${path}.new`;
  try {
    await ifPresent(fresh, unlink(fresh));
    await symlink(text, fresh);
    await rename(fresh, path);
  } catch (cause) {
    throw fileError(path, cause);
  }
}

/** Returns an empty list if the folder does not exist. */
export async function listNumbers(folder: string): Promise<readonly number[]> {
  const names = (await ifPresent(folder, readdir(folder))) ?? [];
  return names.filter((name) => /^[1-9][0-9]{0,14}$/.test(name)).map(Number);
}

export function highest(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}
