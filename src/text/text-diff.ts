import type { StructuredPatchHunk } from "diff";
import { FILE_HEADERS_ONLY, formatPatch, OMIT_HEADERS, structuredPatch } from "diff";

const CONTEXT_LINES = 3;
const CONTEXT_MAX_BYTES = 16_384;
/** Maximum size of the changed part of both texts, from the first change to the last. */
const CHANGED_MAX_BYTES = 1_048_576;
/** Beyond this number of edits, finding the smallest diff is slow. The diff then replaces all lines. */
const EDITS_MAX = 1_000;
const NEWLINE = 0x0a;

export interface DiffRequest {
  /** The names in the diff's header. */
  readonly from: string;
  readonly to: string;
  readonly before: Buffer;
  readonly after: Buffer;
}

export interface TextDiff {
  /** A unified diff. Empty if nothing changed. Undefined if the change is too large to show, or if one of the two is no text. */
  readonly diff: string | undefined;
  /** True if the texts have so little in common that the diff removes all old lines and adds all new lines. */
  readonly isWhole: boolean;
  /** Size of the changed part of both texts together, from the first change to the last. */
  readonly changedBytes: number;
}

/** Computes the diff of two texts. Their lengths bound its time and memory. */
export function diffTexts({ from, to, before, after }: DiffRequest): TextDiff {
  const changed = findChanged(before, after);
  const changedBytes = changed.beforeEnd + changed.afterEnd - 2 * changed.start;
  if (changedBytes === 0) return { diff: "", isWhole: false, changedBytes };
  if (changedBytes > CHANGED_MAX_BYTES || before.includes(0) || after.includes(0)) return { diff: undefined, isWhole: true, changedBytes };
  const least = leastHunks(before, after, changed);
  const hunks = least ?? [wholeHunk(before, after, changed)];
  const patch = { oldFileName: from, newFileName: to, oldHeader: undefined, newHeader: undefined, hunks };
  return { diff: format(patch), isWhole: !least, changedBytes };
}

/** For readers, not for programs: names stand in quotes, with escapes, only where they would break the header's lines. */
function format(patch: Parameters<typeof formatPatch>[0] & { readonly oldFileName: string; readonly newFileName: string }): string {
  const { oldFileName, newFileName } = patch;
  if (/\p{Cc}/u.test(oldFileName + newFileName)) return formatPatch(patch, FILE_HEADERS_ONLY);
  return `--- ${oldFileName}\n+++ ${newFileName}\n${formatPatch(patch, OMIT_HEADERS)}`;
}

/** The changed lines: a common start, and an end in each text. Each position is the start of a line, or the end of the text. */
interface Changed {
  readonly start: number;
  readonly beforeEnd: number;
  readonly afterEnd: number;
}

function findChanged(before: Buffer, after: Buffer): Changed {
  const shorter = Math.min(before.length, after.length);
  let equal = 0;
  while (equal < shorter && before[equal] === after[equal]) equal += 1;
  if (equal === before.length && equal === after.length) return { start: equal, beforeEnd: equal, afterEnd: equal };
  const start = equal === 0 ? 0 : before.lastIndexOf(NEWLINE, equal - 1) + 1;
  let tail = 0;
  while (tail < shorter - start && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  tail = wholeLines(before, after, { start, tail });
  return { start, beforeEnd: before.length - tail, afterEnd: after.length - tail };
}

/** Shortens the common end so that it starts with a whole line in both texts. */
function wholeLines(before: Buffer, after: Buffer, { start, tail }: { readonly start: number; readonly tail: number }): number {
  const startsLine = (text: Buffer): boolean => text.length - tail === start || text[text.length - tail - 1] === NEWLINE;
  if (startsLine(before) && startsLine(after)) return tail;
  const newline = before.indexOf(NEWLINE, before.length - tail);
  return newline < 0 ? 0 : before.length - newline - 1;
}

/** Returns undefined if the texts have too little in common. */
function leastHunks(before: Buffer, after: Buffer, changed: Changed): StructuredPatchHunk[] | undefined {
  const start = linesBefore(before, changed.start);
  const tail = linesAfter(before, changed.beforeEnd) - changed.beforeEnd;
  const [old, now] = [before.toString("utf8", start, changed.beforeEnd + tail), after.toString("utf8", start, changed.afterEnd + tail)];
  const patch = structuredPatch("", "", old, now, undefined, undefined, { context: CONTEXT_LINES, maxEditLength: EDITS_MAX });
  return patch?.hunks.map((hunk) => moveHunk(hunk, countLines(before, start)));
}

function wholeHunk(before: Buffer, after: Buffer, { start, beforeEnd, afterEnd }: Changed): StructuredPatchHunk {
  const [old, now] = [
    toHunkLines("-", before.toString("utf8", start, beforeEnd)),
    toHunkLines("+", after.toString("utf8", start, afterEnd)),
  ];
  const lines = [...old.lines, ...now.lines];
  return moveHunk({ oldStart: 1, oldLines: old.count, newStart: 1, newLines: now.count, lines }, countLines(before, start));
}

function toHunkLines(sign: string, text: string): { readonly lines: readonly string[]; readonly count: number } {
  if (text === "") return { lines: [], count: 0 };
  const isOpen = !text.endsWith("\n");
  const lines = (isOpen ? text : text.slice(0, -1)).split("\n").map((line) => sign + line);
  return { lines: isOpen ? [...lines, "\\ No newline at end of file"] : lines, count: lines.length };
}

function moveHunk(hunk: StructuredPatchHunk, lines: number): StructuredPatchHunk {
  return { ...hunk, oldStart: hunk.oldStart + lines, newStart: hunk.newStart + lines };
}

function countLines(text: Buffer, end: number): number {
  let lines = 0;
  for (let at = 0; at < end; at += 1) if (text[at] === NEWLINE) lines += 1;
  return lines;
}

/** Returns the start of the context lines above a change. */
function linesBefore(text: Buffer, start: number): number {
  let from = start;
  for (let line = 0; line < CONTEXT_LINES && from > 0; line += 1) {
    const above = from < 2 ? 0 : text.lastIndexOf(NEWLINE, from - 2) + 1;
    if (start - above > CONTEXT_MAX_BYTES) break;
    from = above;
  }
  return from;
}

/** Returns the end of the context lines below a change. */
function linesAfter(text: Buffer, end: number): number {
  let to = end;
  for (let line = 0; line < CONTEXT_LINES && to < text.length; line += 1) {
    const newline = text.indexOf(NEWLINE, to);
    const below = newline < 0 ? text.length : newline + 1;
    if (below - end > CONTEXT_MAX_BYTES) break;
    to = below;
  }
  return to;
}
