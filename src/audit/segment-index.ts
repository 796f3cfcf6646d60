import { readdir, readlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { ifPresent } from "../files/file-error.ts";
import { createLink, highest, placeLink, replaceLink } from "../files/numbered-links.ts";
import type { Sign } from "./audit-chain.ts";
import { FIRST_MAC } from "./audit-chain.ts";
import type { IndexEntry, IndexState, Removal, SegmentMark } from "./index-state.ts";
import { parseChained, readIndexState, toBaseText, toEntryText, toMarkText, toRemovalText } from "./index-state.ts";

const BASE = /^base-([1-9][0-9]{0,14})$/;
const NUMBER = /^[1-9][0-9]{0,14}$/;

/**
 * The list of all segments, as symbolic links in `<home>/audit-index`. Several processes write it without a lock. `N` names the N-th
 * segment, and is chained to the previous entry. `N.mark` tells the last line that its writer has reported. `N.removed` tells when and why
 * the segment was removed. `base-N` replaces the entries up to N once all of them are removed.
 */
export class SegmentIndex {
  readonly folder: string;
  readonly #sign: Sign;

  constructor(folder: string, sign: Sign) {
    this.folder = folder;
    this.#sign = sign;
  }

  /** Adds a segment at the end, and returns its number. */
  async place(file: string): Promise<number> {
    for (;;) {
      const names = await this.#names();
      const number = Math.max(highest(numbersOf(names)), baseOf(names)) + 1;
      const previous = await this.#macOf(number - 1, names);
      if (previous === undefined) continue;
      if (!(await placeLink(this.folder, number, toEntryText(this.#sign, number, { file, previous })))) continue;
      if (baseOf(await this.#names()) < number) return number;
      // This process was so slow that others took and removed its number meanwhile.
      await this.#remove(String(number));
    }
  }

  /** Replaces the mark of a segment. Only the writer of the segment may call it. */
  async mark(number: number, mark: SegmentMark): Promise<void> {
    await replaceLink(join(this.folder, `${number}.mark`), toMarkText(this.#sign, number, mark));
  }

  read(): Promise<IndexState> {
    return readIndexState(this.folder, this.#sign);
  }

  /** Call it before removing the segment itself. */
  async noteRemoval(entry: IndexEntry, removal: Removal): Promise<void> {
    await createLink(join(this.folder, `${entry.number}.removed`), toRemovalText(this.#sign, entry, removal));
  }

  /** Replaces the oldest entries, whose segments are all removed, by one base. The last entry always stays. */
  async fold({ base, entries }: IndexState, atMs: number): Promise<void> {
    const until = entries.findIndex(({ removed }) => removed === undefined);
    const foldable = entries.slice(0, until < 0 ? -1 : until).filter((entry, position) => entry.number === base.number + position + 1);
    const last = foldable.at(-1);
    if (!last) return;
    await createLink(join(this.folder, `base-${last.number}`), toBaseText(this.#sign, last.number, { mac: last.mac, atMs }));
    await this.#clear();
  }

  /** Removes the entries that the highest base replaces, and all lower bases. */
  async #clear(): Promise<void> {
    const names = await this.#names();
    const base = baseOf(names);
    const isPast = (name: string): boolean => {
      const number = Number(/^(?:base-)?(\d{1,15})(?:$|\.)/.exec(name)?.[1] ?? Infinity);
      return name.startsWith("base-") ? number < base : number <= base;
    };
    for (const name of names.filter(isPast)) await this.#remove(name);
  }

  /** Returns undefined if the entry was removed meanwhile. */
  async #macOf(number: number, names: readonly string[]): Promise<string | undefined> {
    if (number === 0) return FIRST_MAC;
    const name = baseOf(names) === number ? `base-${number}` : String(number);
    const path = join(this.folder, name);
    const text = await ifPresent(path, readlink(path));
    return text === undefined ? undefined : (parseChained(text) ?? FIRST_MAC);
  }

  async #remove(name: string): Promise<void> {
    await ifPresent(this.folder, unlink(join(this.folder, name)));
  }

  async #names(): Promise<readonly string[]> {
    return (await ifPresent(this.folder, readdir(this.folder))) ?? [];
  }
}

function numbersOf(names: readonly string[]): readonly number[] {
  return names.filter((name) => NUMBER.test(name)).map(Number);
}

function baseOf(names: readonly string[]): number {
  return highest(names.flatMap((name) => Number(BASE.exec(name)?.[1] ?? 0)));
}
