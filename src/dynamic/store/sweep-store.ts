import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ifPresent } from "../../files/file-error.ts";
import { UNFINISHED } from "../../files/replace-file.ts";
import { filesOf, type HeadFiles } from "./head-files.ts";
import type { PlacedFiles } from "./placed-files.ts";
import { removeIfEmpty, VERSION_FILE } from "./version-files.ts";

/** What is younger may be in the making. */
const LEFT_AFTER_MS = 60 * 60 * 1_000;
const FORGOTTEN_AFTER_MS = 24 * LEFT_AFTER_MS;

export interface SweepOptions {
  readonly heads: HeadFiles;
  readonly placed: PlacedFiles;
  readonly nowMs: number;
}

/** Removes what killed processes left behind, and after a day what is left of removed units. */
export async function sweepStore(options: SweepOptions): Promise<void> {
  for (const key of options.heads.keys()) await sweepUnit(key, options);
}

async function sweepUnit(key: string, { heads, placed, nowMs }: SweepOptions): Promise<void> {
  const folder = join(heads.folder, key);
  const found = heads.read(key);
  if (found.kind === "damaged") return;
  const named = new Set(filesOf(found).values());
  const isLeft = (name: string): boolean => name.startsWith(UNFINISHED) || (VERSION_FILE.test(name) && !named.has(name));
  for (const name of (await namesIn(folder)).filter(isLeft))
    if (await isOlder(join(folder, name), nowMs - LEFT_AFTER_MS)) await ifPresent(join(folder, name), unlink(join(folder, name)));
  if (found.kind === "kept" || !(await isOlder(folder, nowMs - FORGOTTEN_AFTER_MS))) return;
  // As long as its files are in the person's folder, they must not be taken for the person's.
  if (placed.read(key).placed.size > 0) return;
  await placed.remove(key);
  await heads.forget(key);
  await removeIfEmpty(folder);
}

async function isOlder(path: string, beforeMs: number): Promise<boolean> {
  return ((await ifPresent(path, stat(path)))?.mtimeMs ?? Infinity) < beforeMs;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return (await ifPresent(folder, readdir(folder))) ?? [];
}
