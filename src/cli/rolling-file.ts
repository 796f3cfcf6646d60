import { appendFileSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errnoOf } from "../files/file-error.ts";

/** A file of lines that begins anew each day, with those of the days before beside it as `NAME.YYYY-MM-DD`. */
export interface RollingFile {
  /** Whole lines. Throws what the file system does. */
  append(lines: string): void;
}

export interface RollingFileOptions {
  /** How many of the days before stay. */
  readonly kept?: number;
  readonly now?: () => Date;
}

const KEPT = 5;

/**
 * Rolls with the first line after midnight, of the local time. Several processes may write one file: each line is one append by the
 * file's name, and a day's file is moved once. For this user alone.
 */
export function openRollingFile(path: string, { kept = KEPT, now = () => new Date() }: RollingFileOptions = {}): RollingFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let day = "";
  return {
    append(lines) {
      const today = toDay(now());
      if (today !== day) {
        roll(path, { today, kept });
        day = today;
      }
      appendFileSync(path, lines, { mode: 0o600 });
    },
  };
}

function roll(path: string, { today, kept }: { readonly today: string; readonly kept: number }): void {
  const written = statSync(path, { throwIfNoEntry: false })?.mtime;
  const last = written && toDay(written);
  if (last !== undefined && last < today) moveIfPresent(path, `${path}.${last}`);
  for (const old of listOld(path).slice(kept)) rmSync(old, { force: true });
}

/** Another process may have moved it since it was looked at. */
function moveIfPresent(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

/** The newest first. */
function listOld(path: string): readonly string[] {
  const prefix = `${basename(path)}.`;
  const isOld = (name: string): boolean => name.startsWith(prefix) && /^\d{4}-\d{2}-\d{2}$/.test(name.slice(prefix.length));
  return readdirSync(dirname(path))
    .filter(isOld)
    .toSorted()
    .toReversed()
    .map((name) => join(dirname(path), name));
}

function toDay(date: Date): string {
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
}
