import { statSync } from "node:fs";
import { nowIfPresent } from "./file-error.ts";
import { namesNow } from "./read-now.ts";

/** Two changes within one tick of the file system's clock leave the same time on the folder. */
const TICK_MS = 100;
/** Some file systems count whole seconds, or pairs of them. */
const COARSE_TICK_MS = 2_100;
const SECOND_MS = 1_000;

/** When a name in the folder last came or went, or its times were set. Undefined if it is not there. */
export function folderTime(folder: string): number | undefined {
  return nowIfPresent(folder, () => statSync(folder, { throwIfNoEntry: false }))?.ctimeMs;
}

/** Whether any change from this moment on gives the folder another time. */
export function isSettled(timeMs: number, nowMs: number): boolean {
  return nowMs - timeMs > (timeMs % SECOND_MS === 0 ? COARSE_TICK_MS : TICK_MS);
}

/**
 * What the names in a folder say, read again only after one came or went. So a look at an unchanged folder is one system call, and what
 * other processes do is seen all the same. Synchronous: a folder of 10,000 names takes some milliseconds.
 */
export class FolderView<T> {
  readonly #folder: string;
  readonly #derive: (names: readonly string[]) => T;
  readonly #now: () => number;
  #known: { readonly timeMs: number; readonly value: T } | undefined;

  constructor(folder: string, derive: (names: readonly string[]) => T, now: () => number = Date.now) {
    this.#folder = folder;
    this.#derive = derive;
    this.#now = now;
  }

  /** The same object as before if nothing has changed. Of a folder that is not there: what no names say. */
  read(): T {
    const nowMs = this.#now();
    const timeMs = folderTime(this.#folder);
    if (timeMs === undefined) return this.#derive([]);
    if (this.#known?.timeMs === timeMs) return this.#known.value;
    const value = this.#derive(namesNow(this.#folder));
    this.#known = isSettled(timeMs, nowMs) ? { timeMs, value } : undefined;
    return value;
  }
}
