import { appendFileSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errnoOf } from "../files/file-error.ts";
import { makeFoldersNow } from "../files/make-folders.ts";

/** A file of lines that starts empty each day. Files of earlier days lie beside it, as `NAME.YYYY-MM-DD`. */
export interface RollingFile {
  /** Appends whole lines. Throws the errors of the file system. */
  append(lines: string): void;
}

export interface RollingFileOptions {
  /** Number of files of earlier days that are kept. */
  readonly kept?: number;
  readonly now?: () => Date;
}

const KEPT = 5;

/**
 * Opens a rolling file that only this user can read. It rolls with the first line after midnight, local time. Several processes may write
 * the file: each call is one append by the file's name, and a day's file is renamed once.
 */
export function openRollingFile(path: string, { kept = KEPT, now = () => new Date() }: RollingFileOptions = {}): RollingFile {
  makeFoldersNow(dirname(path), 0o700);
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

/** Another process may have renamed the file meanwhile. */
function moveIfPresent(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

/** Returns the files of earlier days, the newest first. */
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
