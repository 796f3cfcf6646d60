import { showByteText } from "../byte-text.ts";
import { findNearestLines } from "../nearest-lines.ts";
import type { Hunk, HunkLine } from "./file-patch.ts";

export type HunkOutcome = { readonly text: string } | { readonly problems: readonly string[] };

/** A file's lines, and how it ends. */
interface Lines {
  readonly lines: readonly string[];
  /** The last line has no newline. */
  readonly isOpen: boolean;
}

/** What the file becomes. Every hunk must fit: exactly, else but for spaces at the ends of lines, else but for indentation. */
export function applyHunks(text: string, hunks: readonly Hunk[]): HunkOutcome {
  const file = toLines(text);
  const finder = new HunkFinder(file.lines);
  const fit = fitLineEnd(file.lines);
  const problems: string[] = [];
  const output: (readonly string[])[] = [];
  let { isOpen } = file;
  let done = 0;
  for (const hunk of hunks) {
    const found = finder.find(hunk, done);
    if (!found) {
      problems.push(describeMiss(text, hunk));
      continue;
    }
    const end = found.place + oldLines(hunk).length;
    const own = file.lines.slice(found.place, end);
    output.push(file.lines.slice(done, found.place), newLines(hunk, own, found.isLoose ? fit : (line) => line));
    done = end;
    if (done === file.lines.length) isOpen = endsOpen(hunk, isOpen);
  }
  if (problems.length > 0) return { problems };
  const lines = [...output, file.lines.slice(done)].flat();
  return { text: lines.length === 0 ? "" : lines.join("\n") + (isOpen ? "" : "\n") };
}

function toLines(text: string): Lines {
  if (text === "") return { lines: [], isOpen: false };
  const isOpen = !text.endsWith("\n");
  return { lines: (isOpen ? text : text.slice(0, -1)).split("\n"), isOpen };
}

function oldLines({ lines }: Hunk): readonly string[] {
  return lines.filter(({ kind }) => kind !== "+").map(({ text }) => text);
}

/** Lines that stay are the file's own, however loosely they fit. */
function newLines({ lines }: Hunk, own: readonly string[], fit: (text: string) => string): readonly string[] {
  let at = 0;
  return lines.flatMap(({ kind, text }: HunkLine) => {
    if (kind === "+") return [fit(text)];
    at += 1;
    return kind === " " ? [own[at - 1] ?? ""] : [];
  });
}

/** A patch that knows no CR, or knows it where there is none, gets the line ends that all lines of the file have. */
function fitLineEnd(lines: readonly string[]): (text: string) => string {
  const count = lines.filter((line) => line.endsWith("\r")).length;
  if (count === 0 && lines.length > 0) return (text) => text.replace(/\r$/, "");
  if (count === 0 || count < lines.length) return (text) => text;
  return (text) => (text.endsWith("\r") ? text : `${text}\r`);
}

function endsOpen({ oldIsOpen, newIsOpen }: Hunk, isOpen: boolean): boolean {
  if (newIsOpen) return true;
  return oldIsOpen ? false : isOpen;
}

const LOOSER: readonly ((line: string) => string)[] = [(line) => line, (line) => line.trimEnd(), (line) => line.trim()];

interface FoundHunk {
  readonly place: number;
  /** The hunk is not in the file's own words. */
  readonly isLoose: boolean;
}

class HunkFinder {
  readonly #versions: (readonly string[] | undefined)[] = [];
  readonly #lines: readonly string[];

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  /** Where the hunk's old lines start, at or after `from`. */
  find(hunk: Hunk, from: number): FoundHunk | undefined {
    const start = this.#afterAnchors(hunk.anchors, from);
    if (start === undefined) return undefined;
    const old = oldLines(hunk);
    if (old.length === 0) return this.#insertion(hunk, start);
    for (const level of LOOSER.keys()) {
      const place = this.#nearest(old, { level, from: start, hunk });
      if (place !== undefined) return { place, isLoose: level > 0 };
    }
    return undefined;
  }

  #afterAnchors(anchors: readonly string[], from: number): number | undefined {
    let start = from;
    for (const anchor of anchors) {
      const index = this.#version(2).indexOf(anchor, start);
      if (index < 0) return undefined;
      start = index + 1;
    }
    return start;
  }

  /** A head of `-7,0` means after line 7. */
  #insertion({ at, anchors }: Hunk, start: number): FoundHunk | undefined {
    if (at === undefined) return { place: anchors.length > 0 ? start : this.#lines.length, isLoose: true };
    return at >= start && at <= this.#lines.length ? { place: at, isLoose: false } : undefined;
  }

  #nearest(old: readonly string[], { level, from, hunk }: { level: number; from: number; hunk: Hunk }): number | undefined {
    const loosen = LOOSER[level] ?? LOOSER[0];
    const wanted = old.map((line) => loosen?.(line) ?? line);
    const lines = this.#version(level);
    const expected = hunk.at === undefined ? undefined : hunk.at - 1;
    const last = lines.length - wanted.length;
    if (hunk.endsFile && last >= from && fitsAt(lines, wanted, last)) return last;
    let best: number | undefined;
    for (let at = lines.indexOf(wanted[0] ?? "", from); at >= 0 && at <= last; at = lines.indexOf(wanted[0] ?? "", at + 1)) {
      if (!fitsAt(lines, wanted, at)) continue;
      if (expected === undefined) return at;
      if (best === undefined || Math.abs(at - expected) < Math.abs(best - expected)) best = at;
    }
    return best;
  }

  #version(level: number): readonly string[] {
    const loosen = LOOSER[level];
    this.#versions[level] ??= loosen ? this.#lines.map(loosen) : this.#lines;
    return this.#versions[level] ?? this.#lines;
  }
}

function fitsAt(lines: readonly string[], wanted: readonly string[], at: number): boolean {
  return wanted.every((line, index) => lines[at + index] === line);
}

function describeMiss(text: string, hunk: Hunk): string {
  const nearest = findNearestLines(showByteText(text), showByteText(oldLines(hunk).join("\n")));
  const start = `the hunk "${hunk.title}" does not fit`;
  if (!nearest) return `${start}, and nothing is like its old lines`;
  return `${start}; the nearest lines are ${nearest.startLine} to ${nearest.endLine}:\n${nearest.shown}`;
}
