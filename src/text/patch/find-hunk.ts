import { findRun } from "../find-all.ts";
import type { FileLines } from "./file-lines.ts";
import type { Hunk } from "./file-patch.ts";

const LOOSER = [(line: string) => line, (line: string) => line.trimEnd(), (line: string) => line.trim()] as const;
/** Anchors are compared without spaces at both ends. */
const ANCHOR_LEVEL = 2;

export interface FoundHunk {
  readonly place: number;
  /** True if the hunk's old lines differ from the file's lines in spaces. */
  readonly isLoose: boolean;
}

/** Returns the start of a hunk's old lines, at or after `from`, or undefined if they do not fit. */
export type FindHunk = (hunk: Hunk, from: number) => FoundHunk | undefined;

/** Gives equal lines of hunks and file equal numbers, so that hunks are found by comparing numbers, in linear time. */
export function createHunkFinder(file: FileLines, hunks: readonly Hunk[]): FindHunk {
  const levels: Level[] = [];
  const level = (index: number): Level => (levels[index] ??= new Level(file, hunks, LOOSER[index] ?? LOOSER[0]));

  function afterAnchors({ anchors }: Hunk, from: number): number | undefined {
    let start = from;
    for (const anchor of anchors) {
      const index = level(ANCHOR_LEVEL).find(anchor, start);
      if (index < 0) return undefined;
      start = index + 1;
    }
    return start;
  }

  return (hunk, from) => {
    const start = afterAnchors(hunk, from);
    if (start === undefined) return undefined;
    if (oldLines(hunk).length === 0) return insertion(hunk, start, file.count);
    for (const index of LOOSER.keys()) {
      const place = nearest(level(index), hunk, start);
      if (place !== undefined) return { place, isLoose: index > 0 };
    }
    return undefined;
  };
}

export function oldLines({ lines }: Hunk): readonly string[] {
  return lines.filter(({ kind }) => kind !== "+").map(({ text }) => text);
}

/** A header with `-7,0` means: insert after line 7. */
function insertion({ at, anchors }: Hunk, start: number, count: number): FoundHunk | undefined {
  if (at === undefined) return { place: anchors.length > 0 ? start : count, isLoose: true };
  return at >= start && at <= count ? { place: at, isLoose: false } : undefined;
}

/** Prefers the end of the file for a hunk that ends the file. Else takes the place nearest to `at`, or the first without `at`. */
function nearest(level: Level, hunk: Hunk, from: number): number | undefined {
  const wanted = level.numbersOf(oldLines(hunk));
  const last = level.numbers.length - wanted.length;
  if (hunk.endsFile && last >= from && isAt(level.numbers, wanted, last)) return last;
  const expected = hunk.at === undefined ? 0 : hunk.at - 1;
  let best: number | undefined;
  findRun(level.numbers, wanted, from, (place) => {
    if (best === undefined || Math.abs(place - expected) < Math.abs(best - expected)) best = place;
    // Places come in order, so all later places are further away.
    return place >= expected;
  });
  return best;
}

function isAt(numbers: Int32Array, wanted: Int32Array, place: number): boolean {
  return wanted.every((number, index) => numbers[place + index] === number);
}

/** The lines at one level of looseness, as numbers. Equal lines have equal numbers. Lines that are in no hunk have the number 0. */
class Level {
  readonly numbers: Int32Array;
  readonly #loosen: (line: string) => string;
  readonly #known = new Map<string, number>();

  constructor(file: FileLines, hunks: readonly Hunk[], loosen: (line: string) => string) {
    this.#loosen = loosen;
    for (const hunk of hunks) for (const line of [...oldLines(hunk), ...hunk.anchors]) this.#learn(loosen(line));
    this.numbers = new Int32Array(file.count);
    for (let line = 0; line < file.count; line += 1) this.numbers[line] = this.#known.get(loosen(file.line(line))) ?? 0;
  }

  numbersOf(lines: readonly string[]): Int32Array {
    return Int32Array.from(lines, (line) => this.#known.get(this.#loosen(line)) ?? 0);
  }

  find(line: string, from: number): number {
    return this.numbers.indexOf(this.#known.get(line) ?? -1, from);
  }

  #learn(line: string): void {
    if (!this.#known.has(line)) this.#known.set(line, this.#known.size + 1);
  }
}
