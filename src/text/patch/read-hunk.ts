import { showByteText } from "../byte-text.ts";
import type { Hunk, HunkLine } from "./file-patch.ts";
import { invalidPatch } from "./file-patch.ts";

const NUMBERED = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** The numbers of lines in the header. They decide only where the text is ambiguous, because models often miscount. */
interface Promised {
  readonly old: number;
  readonly new: number;
}

/** Reads the hunk whose `@@` line is at `start`. `next` is the first line after the hunk. */
export function readHunk(lines: readonly string[], start: number): { readonly hunk: Hunk; readonly next: number } {
  const head = lines[start] ?? "";
  const numbers = NUMBERED.exec(head);
  const promised = { old: Number(numbers?.[2] ?? 1), new: Number(numbers?.[4] ?? 1) };
  const body = readBody(lines, start + 1, numbers ? promised : undefined);
  if (body.lines.length === 0) throw invalidPatch(start + 1, "starts a hunk that has no lines");
  return {
    hunk: {
      title: showByteText(head).trimEnd().slice(0, 100),
      lines: body.lines,
      anchors: [],
      endsFile: false,
      oldIsOpen: body.oldIsOpen,
      newIsOpen: body.newIsOpen,
      ...(numbers && { at: Number(numbers[1]) }),
    },
    next: body.next,
  };
}

/** Empty lines at the end belong to the hunk only if the numbers in its header require them. */
function readBody(lines: readonly string[], start: number, promised: Promised | undefined) {
  const taken: HunkLine[] = [];
  const left = { old: promised?.old ?? 0, new: promised?.new ?? 0 };
  let [at, bare, oldIsOpen, newIsOpen] = [start, 0, false, false];
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (line.startsWith("\\")) {
      const last = taken.at(-1)?.kind;
      oldIsOpen ||= last !== "+";
      newIsOpen ||= last !== "-";
      continue;
    }
    const kind = line[0] ?? " ";
    if ((kind !== " " && kind !== "-" && kind !== "+") || startsOther(lines, at, left)) break;
    taken.push({ kind, text: line.slice(1) });
    bare = line === "" ? bare + 1 : 0;
    if (kind !== "+") left.old -= 1;
    if (kind !== "-") left.new -= 1;
  }
  const isAsPromised = promised !== undefined && left.old === 0 && left.new === 0;
  return { lines: isAsPromised ? taken : taken.slice(0, taken.length - bare), next: at, oldIsOpen, newIsOpen };
}

/**
 * Returns true if the line starts another file, or the signature of a mail of git (`-- `). The lines `--- x` and `+++ y` may also change
 * `-- x` to `++ y`. They count as the hunk's last lines if they complete the numbers in its header.
 */
function startsOther(lines: readonly string[], at: number, left: Promised): boolean {
  const line = lines[at] ?? "";
  const isPromised = left.old > 0 || left.new > 0;
  if (line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ")) {
    if (!isPromised) return true;
    const endsHunk = lines[at + 2] === undefined || lines[at + 2]?.startsWith("@@") === true;
    return endsHunk && !(left.old === 1 && left.new === 1);
  }
  return !isPromised && line.trimEnd() === "--";
}
