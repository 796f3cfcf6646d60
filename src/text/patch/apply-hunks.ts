import { showByteText } from "../byte-text.ts";
import { findNearestLines } from "../nearest-lines.ts";
import type { FoundHunk } from "./find-hunk.ts";
import { createHunkFinder, oldLines } from "./find-hunk.ts";
import type { Hunk, HunkLine } from "./file-patch.ts";
import { countLines, FileLines, LINES_MAX } from "./file-lines.ts";

export type HunkOutcome = { readonly text: string } | { readonly problems: readonly string[] };

/** Maximum number of hunks whose failure is explained. Of further hunks, only the title is reported. */
const EXPLAINED_MAX = 3;

/** Returns the patched text. Every hunk must fit: exactly, or without spaces at line ends, or without spaces at both ends of lines. */
export function applyHunks(text: string, hunks: readonly Hunk[]): HunkOutcome {
  if (countLines(text) > LINES_MAX) return { problems: [`the file has more than ${LINES_MAX} lines; use git apply with run_command`] };
  const file = new FileLines(text);
  const find = createHunkFinder(file, hunks);
  const fit = fitLineEnd(file);
  const problems: string[] = [];
  const output: string[] = [];
  let { isOpen } = file;
  let done = 0;
  for (const hunk of hunks) {
    const found = find(hunk, done);
    if (!found) {
      problems.push(describeMiss(text, hunk, problems.length < EXPLAINED_MAX));
      continue;
    }
    output.push(file.text(done, found.place), newText(file, hunk, found, fit));
    done = found.place + oldLines(hunk).length;
    if (done === file.count) isOpen = endsOpen(hunk, isOpen);
  }
  if (problems.length > 0) return { problems };
  const closed = [...output, file.text(done, file.count)].join("");
  return { text: isOpen ? closed.slice(0, -1) : closed };
}

/** Context lines are taken from the file, not from the hunk, even if they fit loosely. */
function newText(file: FileLines, { lines }: Hunk, { place, isLoose }: FoundHunk, fit: (text: string) => string): string {
  let at = place;
  const text = lines.map(({ kind, text: line }: HunkLine) => {
    if (kind === "+") return `${isLoose ? fit(line) : line}\n`;
    at += 1;
    return kind === " " ? file.text(at - 1, at) : "";
  });
  return text.join("");
}

/** Adds or removes a CR in new lines, if all lines of the file agree on their line ends. */
function fitLineEnd(file: FileLines): (text: string) => string {
  const count = file.countReturns();
  if (count === 0 && file.count > 0) return (text) => (text.endsWith("\r") ? text.slice(0, -1) : text);
  if (count === 0 || count < file.count) return (text) => text;
  return (text) => (text.endsWith("\r") ? text : `${text}\r`);
}

function endsOpen({ oldIsOpen, newIsOpen }: Hunk, isOpen: boolean): boolean {
  if (newIsOpen) return true;
  return oldIsOpen ? false : isOpen;
}

function describeMiss(text: string, hunk: Hunk, isExplained: boolean): string {
  const start = `the hunk "${hunk.title}" does not fit`;
  if (!isExplained) return start;
  const nearest = findNearestLines(showByteText(text), showByteText(oldLines(hunk).join("\n")));
  if (!nearest) return `${start}, and nothing is like its old lines`;
  return `${start}; the nearest text is at ${nearest.place}:\n${nearest.shown}`;
}
