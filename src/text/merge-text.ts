import { diffArrays } from "diff";

/** Maximum number of changed lines of each side. Beyond it, finding the smallest difference is slow. */
const EDITS_MAX = 4_000;
const NEWLINE = 0x0a;

export interface MergeRequest {
  readonly base: Buffer;
  readonly ours: Buffer;
  readonly theirs: Buffer;
}

export interface MergedText {
  /** Undefined if both sides changed the same lines or lines beside each other, or if the texts differ too much. */
  readonly merged: Buffer | undefined;
}

/** Lines `from` to `to` of the base become `lines`. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/**
 * Merges the changes that two sides made of a text, line by line, as git does: what one side changed is taken, what both changed alike is
 * taken once, and changes of both that touch are a conflict. Bytes that are no newline are never looked at.
 */
export function mergeTexts({ base, ours, theirs }: MergeRequest): MergedText {
  const lines = splitLines(base);
  const changes = [ours, theirs].map((side) => findChanges(lines, splitLines(side)));
  const [mine, yours] = changes;
  if (!mine || !yours) return { merged: undefined };
  const merged = interleave(lines, [mine, yours]);
  return { merged: merged && Buffer.from(merged.join(""), "latin1") };
}

/** With their newlines, a character for each byte. */
function splitLines(text: Buffer): readonly string[] {
  const lines: string[] = [];
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf(NEWLINE, start);
    const end = newline < 0 ? text.length : newline + 1;
    lines.push(text.toString("latin1", start, end));
    start = end;
  }
  return lines;
}

function findChanges(base: readonly string[], side: readonly string[]): readonly Change[] | undefined {
  const parts = diffArrays([...base], [...side], { maxEditLength: EDITS_MAX });
  if (!parts) return undefined;
  const changes: Change[] = [];
  let at = 0;
  for (const { added, removed, value } of parts) {
    const last = changes.at(-1);
    const joins = last?.to === at ? changes.pop() : undefined;
    if (added || removed) {
      const lines = added ? value : [];
      const to = removed ? at + value.length : at;
      changes.push({ from: joins?.from ?? at, to, lines: [...(joins?.lines ?? []), ...lines] });
    } else if (joins) changes.push(joins);
    if (!added) at += value.length;
  }
  return changes;
}

/** Undefined if changes of both sides touch and are not the same. */
function interleave(
  base: readonly string[],
  [mine, yours]: readonly [readonly Change[], readonly Change[]],
): readonly string[] | undefined {
  const merged: string[] = [];
  let at = 0;
  let [one, other] = [0, 0];
  for (;;) {
    const [left, right] = [mine[one], yours[other]];
    if (!left && !right) break;
    const isSame = left && right && isAlike(left, right);
    if (left && right && !isSame && touches(left, right)) return undefined;
    const next = !right || (left && left.from <= right.from) ? left : right;
    if (!next) break;
    if (isSame || next === left) one += 1;
    if (isSame || next === right) other += 1;
    for (const line of base.slice(at, next.from)) merged.push(line);
    for (const line of next.lines) merged.push(line);
    at = next.to;
  }
  for (const line of base.slice(at)) merged.push(line);
  return merged;
}

function touches(one: Change, other: Change): boolean {
  return one.from <= other.to && other.from <= one.to;
}

function isAlike(one: Change, other: Change): boolean {
  const isSamePlace = one.from === other.from && one.to === other.to && one.lines.length === other.lines.length;
  return isSamePlace && one.lines.every((line, index) => line === other.lines[index]);
}
