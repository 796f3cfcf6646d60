import type { Frame } from "playwright-core";

/** Of the references that were given, for those that come back when their element is gone. */
const LABELS_MAX = 5_000;
const RANGES_MAX = 2_000;
/** A line of the tree: its role and name, and its reference. */
const LINE = /^ *- (?!gone:)([a-z]{1,40}(?: "(?:[^"\\]|\\.){0,400}")?)[^\n]*\[(e\d{1,9})\]$/gm;

/** Which numbers the references of a tab have, in which frame each was given, and what it was then. */
export class References {
  readonly #ranges: { readonly from: number; readonly frame: Frame }[] = [];
  readonly #labels = new Map<string, string>();
  #next = 1;

  /** The number of the next one that is new. */
  get next(): number {
    return this.#next;
  }

  /** All below `next` that were not given before are the frame's. */
  given(next: number, frame: Frame): void {
    if (!Number.isSafeInteger(next) || next <= this.#next) return;
    if (this.#ranges.at(-1)?.frame !== frame) this.#ranges.push({ from: this.#next, frame });
    if (this.#ranges.length > RANGES_MAX) this.#ranges.shift();
    this.#next = next;
  }

  frameOf(ref: string): Frame | undefined {
    const number = /^e(\d{1,9})$/.exec(ref)?.[1];
    if (number === undefined || Number(number) >= this.#next) return undefined;
    return this.#ranges.findLast(({ from }) => from <= Number(number))?.frame;
  }

  /** Of each line of a tree, what its reference stands for. */
  remember(tree: string): void {
    for (const [, label = "", ref = ""] of tree.matchAll(LINE)) {
      this.#labels.delete(ref);
      this.#labels.set(ref, label);
    }
    for (const ref of this.#labels.keys()) {
      if (this.#labels.size <= LABELS_MAX) return;
      this.#labels.delete(ref);
    }
  }

  labelOf(ref: string): string | undefined {
    return this.#labels.get(ref);
  }
}
