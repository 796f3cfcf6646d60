import { mkdir, readdir, rename, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, fileError, ifPresent } from "./file-error.ts";

/**
 * Links named by a number, whose text is what they say. One appears whole and only once, so of several processes that place number n
 * one wins, and nobody needs a lock. False when somebody else has that number.
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

/** False when there is one already; then its text stands. */
export async function createLink(path: string, text: string): Promise<boolean> {
  try {
    await symlink(text, path);
    return true;
  } catch (cause) {
    if (errnoOf(cause) === "EEXIST") return false;
    throw fileError(path, cause);
  }
}

/** Readers see the old text or the new one. Of each link one process is the writer. */
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

/** None when there is no such folder. */
export async function listNumbers(folder: string): Promise<readonly number[]> {
  const names = (await ifPresent(folder, readdir(folder))) ?? [];
  return names.filter((name) => /^[1-9][0-9]{0,14}$/.test(name)).map(Number);
}

export function highest(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}
