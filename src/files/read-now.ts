import { readdirSync, readFileSync } from "node:fs";
import { nowIfPresent } from "./file-error.ts";

/**
 * The text of a small file of the home, or undefined if there is none. Synchronous: it was written a moment ago and is in memory, so it
 * takes some microseconds. The same read in the thread pool takes four turns there, behind all that waits for the disk.
 */
export function readNow(path: string): string | undefined {
  return nowIfPresent(path, () => readFileSync(path, "utf8"));
}

/** The names in a small folder of the home; none if it does not exist. Synchronous for the same reason. */
export function namesNow(folder: string): readonly string[] {
  return nowIfPresent(folder, () => readdirSync(folder)) ?? [];
}
