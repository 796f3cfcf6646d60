import { randomBytes } from "node:crypto";
import { mkdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../errors.ts";
import { errnoOf, fileError, ifPresent } from "./file-error.ts";
import { highest } from "./numbered-links.ts";
import { namesNow, readNow } from "./read-now.ts";
import { createFile, type FlushWish } from "./replace-file.ts";
import { watchFolder } from "./watch-folder.ts";

const NAME = /^(.+)\.([1-9][0-9]{0,14})\.json$/;
/** Each lost race means that another process changed the file. So many losses in a row are a fault. */
const MAX_ROUNDS = 100;
/** The end of each file: the marks of the latest changes, its own mark first. */
const MARKS = /(?:,"changes":"([\w -]+)"\}|\n# changes: ([\w -]+)\n)$/;
/** Number of marks in a file. A slow writer finds its own mark until others have made so many changes. */
const MARKS_KEPT = 256;

/** A value and its number in the order of changes. The number is 0 until a value is written. */
export interface Numbered<T> {
  readonly number: number;
  readonly value: T;
}

export interface NumberedFileOptions<T> {
  /** Created with the first write, with mode 0700. */
  readonly folder: string;
  /** Unique in the folder, which any number of numbered files may share. */
  readonly name: string;
  /** For messages, such as `the network of sandbox ID`. */
  readonly title: string;
  readonly serialise: (value: T) => string;
  /** Accepts any text. It decides which value stands for a damaged file. */
  readonly parse: (text: string, path: string) => T;
}

/** A stored value, with the marks of the changes that led to it. */
interface Stored<T> extends Numbered<T> {
  readonly marks: readonly string[];
}

/**
 * A value that any number of processes may change, in `<folder>/<name>.<number>.json`. The highest number holds. Each number appears
 * whole, by a link that only one process can make. A process that loses the race reads the value again and repeats its change, so no
 * change is lost. There is no lock, and a killed process leaves no partial file. Only this user can read the files.
 *
 * Lower numbers are removed. So a slow writer may place a removed number again, and a winner may find a higher number at once. Each
 * value carries the marks of the changes before it, which tell the two cases apart. Each change is made exactly once.
 */
export class NumberedFile<T> {
  readonly #options: NumberedFileOptions<T>;

  constructor(options: NumberedFileOptions<T>) {
    this.#options = options;
  }

  /** Returns `first` with the number 0 if nothing was written. */
  async read<F>(first: F): Promise<Numbered<T | F>> {
    return this.readNow(first);
  }

  /** The same at once, for whoever reads very many. `names`: those in the folder. */
  readNow<F>(first: F, names?: readonly string[]): Numbered<T | F> {
    const { number, value } = this.#read(first, names);
    return { number, value };
  }

  /**
   * Writes the result of `change`, exactly once. If another process was quicker, `change` is called again with the newer value. If
   * `change` returns the same object, nothing is written. `flush` says what of a change outlives a power cut. Rejects with `RUNTIME_FAILED`
   * if other processes keep changing the value.
   */
  async change(
    first: T,
    change: (value: T) => T | Promise<T>,
    flush: (before: T, after: T) => FlushWish = () => false,
  ): Promise<Numbered<T>> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const before = this.#read(first);
      const value = await change(before.value);
      if (value === before.value) return { number: before.number, value };
      if (await this.#place(before, value, flush(before.value, value))) return { number: before.number + 1, value };
    }
    throw new BelljarError("RUNTIME_FAILED", `Other processes keep changing ${this.#options.title}: try again`);
  }

  /** Writes the value under this number, and removes lower ones. Returns false unless the number is next and no other process was first. */
  async take({ number, value }: Numbered<T>): Promise<boolean> {
    const before = this.#read(undefined);
    return before.number === number - 1 && this.#place(before, value);
  }

  async remove(): Promise<void> {
    await this.#removeAll(this.#numbers());
  }

  #read<F>(first: F, names?: readonly string[]): Stored<T | F> {
    const number = highest(this.#numbers(names));
    if (number === 0) return { number, value: first, marks: [] };
    const path = this.#path(number);
    const text = readNow(path);
    return text === undefined ? this.#read(first) : { number, ...this.#parse(text, path) };
  }

  #parse(text: string, path: string): Pick<Stored<T>, "value" | "marks"> {
    const [bare, marks] = takeMarks(text);
    return { value: this.#options.parse(bare, path), marks };
  }

  async #place(before: Stored<unknown>, value: T, flush: FlushWish = false): Promise<boolean> {
    const { folder, serialise } = this.#options;
    const number = before.number + 1;
    const mark = randomBytes(6).toString("base64url");
    const marks = [mark, ...before.marks].slice(0, MARKS_KEPT);
    const text = putMarks(serialise(value), marks);
    const create = (): Promise<boolean> => createFile(this.#path(number), text, { flush });
    try {
      if (!(await create().catch((cause: unknown) => this.#createBeside(cause, create)))) return false;
    } catch (cause) {
      throw fileError(folder, cause);
    }
    return this.#settle(number, mark);
  }

  /** The first file in the folder. */
  async #createBeside(cause: unknown, create: () => Promise<boolean>): Promise<boolean> {
    if (errnoOf(cause) !== "ENOENT") throw cause;
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
    return create();
  }

  /** Returns true if the change holds. A higher number means that others have changed the value since, or that this number was reused. */
  async #settle(number: number, mark: string): Promise<boolean> {
    const numbers = this.#numbers();
    await this.#removeAll(numbers.filter((one) => one < Math.max(...numbers)));
    if (Math.max(number, ...numbers) === number) return true;
    const now = this.#read(undefined);
    if (now.number === 0 || now.marks.includes(mark)) return true; // number 0: everything was removed meanwhile, even this change
    if (now.number - number < now.marks.length) return false;
    throw new BelljarError(
      "RUNTIME_FAILED",
      `It is unknown whether this change of ${this.#options.title} was made: check it, and try again`,
    );
  }

  #numbers(names: readonly string[] = namesNow(this.#options.folder)): readonly number[] {
    return names.flatMap((file) => {
      const match = NAME.exec(file);
      return match?.[1] === this.#options.name ? [Number(match[2])] : [];
    });
  }

  async #removeAll(numbers: readonly number[]): Promise<void> {
    await Promise.all(numbers.map((number) => ifPresent(this.#path(number), unlink(this.#path(number)))));
  }

  #path(number: number): string {
    return join(this.#options.folder, `${this.#options.name}.${number}.json`);
  }
}

/** Adds the marks: as one more member of a JSON object, else as one more line. */
function putMarks(text: string, marks: readonly string[]): string {
  const joined = marks.join(" ");
  return /[^{]\}$/.test(text) ? `${text.slice(0, -1)},"changes":"${joined}"}` : `${text}\n# changes: ${joined}\n`;
}

function takeMarks(text: string): readonly [text: string, marks: readonly string[]] {
  const [whole, member, line] = MARKS.exec(text) ?? [];
  if (whole === undefined) return [text, []];
  const bare = text.slice(0, -whole.length);
  return member === undefined ? [bare, (line ?? "").split(" ")] : [`${bare}}`, member.split(" ")];
}

/** The highest number of each numbered file, by its name, of the names in a folder. */
export function highestNumbers(names: readonly string[]): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  for (const file of names) {
    const [, name, number] = NAME.exec(file) ?? [];
    if (name !== undefined) numbers.set(name, Math.max(Number(number), numbers.get(name) ?? 0));
  }
  return numbers;
}

export interface NumberedFileEars {
  /** Called with the file's name whenever this or another process writes or removes a number. */
  readonly changed: (name: string) => void;
  readonly failed: (cause: Error) => void;
}

/** Watches the folder until it is closed. The folder must exist. The watch does not keep the process alive. */
export function watchNumberedFiles(folder: string, { changed, failed }: NumberedFileEars): { close(): void } {
  const note = (file: string): void => {
    const name = NAME.exec(file)?.[1];
    if (name !== undefined) changed(name);
  };
  return watchFolder(folder, { changed: note, failed });
}
