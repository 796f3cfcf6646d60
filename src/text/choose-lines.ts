/** Lines `from` up to but not including `to` of the old text become `lines`, which have their newlines. Lines count from 0. */
export interface LineChange {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** A part of a unified diff: its header, its lines as they are shown, and what it changes. */
export interface ShownHunk {
  readonly header: string;
  readonly shown: readonly string[];
  readonly changes: readonly LineChange[];
}

const HEADER = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/;
const NO_NEWLINE = "\\";

/** The hunks of a unified diff of one file. */
export function readHunks(patch: string): readonly ShownHunk[] {
  const hunks: ShownHunk[] = [];
  const lines = patch.replace(/\n$/, "").split("\n");
  for (let at = lines.findIndex((line) => HEADER.test(line)); at >= 0 && at < lines.length;) {
    let end = at + 1;
    while (end < lines.length && !HEADER.test(lines[end] ?? "")) end += 1;
    hunks.push(readHunk(lines[at] ?? "", lines.slice(at + 1, end)));
    at = end;
  }
  return hunks;
}

/** One hunk for each run of changed lines, with the lines around it. Alone where there is only one. */
export function splitHunk({ header, shown }: ShownHunk): readonly ShownHunk[] {
  const starts = shown.flatMap((line, index) =>
    isChanged(line) && !line.startsWith(NO_NEWLINE) && !isChanged(shown[index - 1] ?? " ") ? [index] : [],
  );
  if (starts.length < 2) return [readHunk(header, shown)];
  let line = firstLine(header);
  let done = 0;
  return starts.map((start, index) => {
    for (; done < start; done += 1) if (isOld(shown[done] ?? "")) line += 1;
    const end = starts[index + 1] ?? shown.length;
    const before = index === 0 ? shown.slice(0, start) : contextBefore(shown, start);
    const part = [...before, ...shown.slice(start, end)];
    const first = line - before.length;
    const old = part.filter(isOld).length;
    return readHunk(`@@ -${old === 0 ? first : first + 1},${old} +${first + 1},${part.filter(isNew).length} @@`, part);
  });
}

/** The old text with these changes, which lie in order and apart. */
export function takeChanges(before: string, changes: readonly LineChange[]): string {
  const lines = splitLines(before);
  const taken: (readonly string[])[] = [];
  let at = 0;
  for (const { from, to, lines: added } of changes) {
    taken.push(lines.slice(at, from), added);
    at = to;
  }
  return [...taken, lines.slice(at)].flat().join("");
}

function readHunk(header: string, shown: readonly string[]): ShownHunk {
  const changes: LineChange[] = [];
  let at = firstLine(header);
  let open: { from: number; lines: string[] } | undefined;
  const close = (): void => {
    if (open) changes.push({ ...open, to: at });
    open = undefined;
  };
  for (const [index, line] of shown.entries()) {
    if (line.startsWith(NO_NEWLINE)) continue;
    if (isChanged(line)) open ??= { from: at, lines: [] };
    else close();
    if (line.startsWith("+")) open?.lines.push(line.slice(1) + (shown[index + 1]?.startsWith(NO_NEWLINE) ? "" : "\n"));
    if (isOld(line)) at += 1;
  }
  close();
  return { header, shown, changes };
}

/** Counted from 0. A hunk without old lines names the line before it. */
function firstLine(header: string): number {
  const [, start = "1", count = "1"] = HEADER.exec(header) ?? [];
  return count === "0" ? Number(start) : Number(start) - 1;
}

function contextBefore(shown: readonly string[], start: number): readonly string[] {
  let from = start;
  while (from > 0 && (shown[from - 1] ?? "").startsWith(" ")) from -= 1;
  return shown.slice(from, start);
}

function isChanged(line: string): boolean {
  return line.startsWith("-") || line.startsWith("+") || line.startsWith(NO_NEWLINE);
}

function isOld(line: string): boolean {
  return line.startsWith("-") || line.startsWith(" ");
}

function isNew(line: string): boolean {
  return line.startsWith("+") || line.startsWith(" ");
}

function splitLines(text: string): readonly string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}
