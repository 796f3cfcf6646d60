import type { FSWatcher } from "node:fs";
import { watch } from "node:fs";
import { mkdir, readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../errors.ts";
import { fileError, ifPresent } from "./file-error.ts";
import { highest } from "./numbered-links.ts";
import { createFile } from "./replace-file.ts";

const NAME = /^(.+)\.([1-9][0-9]{0,14})\.json$/;
/** Losing a race means that another process has changed the file: this many in a row are a fault. */
const MAX_ROUNDS = 100;

/** A value and its place in the order of changes; 0: nothing was written yet. */
export interface Numbered<T> {
  readonly number: number;
  readonly value: T;
}

export interface NumberedFileOptions<T> {
  /** Made when the first number is written, for this user alone. */
  readonly folder: string;
  /** Any number of files share a folder, each with a name of its own. */
  readonly name: string;
  /** What a person calls the value, as `the network of sandbox ID`. */
  readonly title: string;
  readonly serialise: (value: T) => string;
  /** Whatever the text is. What a damaged file counts as is decided here. */
  readonly parse: (text: string, path: string) => T;
}

/**
 * `<folder>/<name>.<number>.json`: a value that any number of processes change; the highest number holds. A number appears whole, by a
 * link that only one process can make, so of several that change the value at once none loses its change: who comes second reads
 * again. No lock, and a killed process leaves nothing half done. Files are for this user alone.
 */
export class NumberedFile<T> {
  readonly #options: NumberedFileOptions<T>;

  constructor(options: NumberedFileOptions<T>) {
    this.#options = options;
  }

  /** `first` with the number 0 when nothing was written. */
  async read<F>(first: F): Promise<Numbered<T | F>> {
    const number = highest(await this.#numbers());
    if (number === 0) return { number, value: first };
    const path = this.#path(number);
    const text = await ifPresent(path, readFile(path, "utf8"));
    return text === undefined ? this.read(first) : { number, value: this.#options.parse(text, path) };
  }

  /**
   * Writes what `change` makes of the value; it is asked again with a newer value each time another process was quicker. That value may
   * hold the change already: a change must be one that may be made twice. The same object from it leaves the disk as it is.
   */
  async change(first: T, change: (value: T) => T | Promise<T>): Promise<Numbered<T>> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const before = await this.read(first);
      const value = await change(before.value);
      if (value === before.value) return before;
      const after = { number: before.number + 1, value };
      if (await this.take(after)) return after;
    }
    throw new BelljarError("RUNTIME_FAILED", `Other processes keep changing ${this.#options.title}: try again`);
  }

  /** Writes the value under this number, and removes those below. False when another process has this number or a higher one. */
  async take({ number, value }: Numbered<T>): Promise<boolean> {
    const { folder, serialise } = this.#options;
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      if (!(await createFile(this.#path(number), serialise(value)))) return false;
    } catch (cause) {
      throw fileError(folder, cause);
    }
    return this.#settle(number);
  }

  async remove(): Promise<void> {
    await this.#removeAll(await this.#numbers());
  }

  /** A late one, whose number was taken and removed meanwhile, sees a higher one beside its own and gives way. */
  async #settle(number: number): Promise<boolean> {
    const numbers = await this.#numbers();
    const holds = highest(numbers) === number;
    await this.#removeAll(holds ? numbers.filter((one) => one < number) : [number]);
    return holds;
  }

  async #numbers(): Promise<readonly number[]> {
    const { folder, name } = this.#options;
    return (await namesIn(folder)).flatMap((file) => {
      const match = NAME.exec(file);
      return match?.[1] === name ? [Number(match[2])] : [];
    });
  }

  async #removeAll(numbers: readonly number[]): Promise<void> {
    await Promise.all(numbers.map((number) => ifPresent(this.#path(number), rm(this.#path(number)))));
  }

  #path(number: number): string {
    return join(this.#options.folder, `${this.#options.name}.${number}.json`);
  }
}

/** The names of the numbered files in a folder; none when there is no such folder. */
export async function listNumberedFiles(folder: string): Promise<readonly string[]> {
  return [...new Set((await namesIn(folder)).flatMap((file) => NAME.exec(file)?.[1] ?? []))];
}

export interface NumberedFileEars {
  /** With the name, whenever a number came or went, by this process or another one. */
  readonly changed: (name: string) => void;
  readonly failed: (cause: Error) => void;
}

/** Until it is closed. It holds no process, and the folder must be there. */
export function watchNumberedFiles(folder: string, { changed, failed }: NumberedFileEars): { close(): void } {
  let watcher: FSWatcher;
  try {
    watcher = watch(folder, { persistent: false });
  } catch (cause) {
    throw fileError(folder, cause);
  }
  watcher.on("change", (_event, file) => {
    const name = typeof file === "string" ? NAME.exec(file)?.[1] : undefined;
    if (name !== undefined) changed(name);
  });
  watcher.on("error", failed);
  return watcher;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return (await ifPresent(folder, readdir(folder))) ?? [];
}
