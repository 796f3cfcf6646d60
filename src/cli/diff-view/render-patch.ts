import { printableText } from "../../files/printable.ts";
import type { Colours } from "../colours.ts";
import { padTo, toRows } from "./text-width.ts";

/** A terminal of so many columns shows both sides of a change beside each other. */
const WIDE_COLUMNS = 160;
const BETWEEN = " | ";

export interface View {
  readonly colours: Colours;
  /** Of the terminal; absent: the patch is shown as it is. */
  readonly columns?: number | undefined;
}

/** A unified diff for a terminal: painted, and side by side in a wide one. Nothing in it can steer the terminal. */
export function renderPatch(patch: string, { colours, columns = 0 }: View): string {
  const lines = printableText(patch).replace(/\n$/, "").split("\n");
  const shown = columns >= WIDE_COLUMNS ? sideBySide(lines, colours, columns) : paintLines(lines, colours);
  return shown.map((line) => `${line}\n`).join("");
}

type Kind = "head" | "hunk" | "old" | "new" | "same";

const KINDS: Readonly<Record<string, Kind>> = { "-": "old", "+": "new", " ": "same" };

/** Only the start of a hunk ends the head: a line `--- ` in a hunk is a line that goes. */
function kindsOf(lines: readonly string[]): readonly Kind[] {
  let kind: Kind = "head";
  return lines.map((line) => {
    if (line.startsWith("diff --git ")) kind = "head";
    else if (line.startsWith("@@ ")) kind = "hunk";
    // What says that there is no newline at the end belongs to the line before.
    else if (kind !== "head" && !line.startsWith("\\")) kind = KINDS[line.charAt(0)] ?? "same";
    return kind;
  });
}

function paintLines(lines: readonly string[], colours: Colours): readonly string[] {
  const paints = { head: colours.bold, hunk: colours.cyan, old: colours.red, new: colours.green, same: (text: string) => text };
  const kinds = kindsOf(lines);
  return lines.map((line, index) => paints[kinds[index] ?? "same"](line));
}

function sideBySide(lines: readonly string[], colours: Colours, columns: number): readonly string[] {
  const kinds = kindsOf(lines);
  const width = Math.floor((columns - BETWEEN.length) / 2);
  const shown: string[] = [];
  // A long line has more rows than a call takes arguments.
  const add = (rows: readonly string[]): void => {
    for (const row of rows) shown.push(row);
  };
  let [old, now]: [string[], string[]] = [[], []];
  const flush = (): void => {
    for (let index = 0; index < Math.max(old.length, now.length); index += 1)
      add(besides(old[index] ?? "", now[index] ?? "", { width, left: colours.red, right: colours.green }));
    [old, now] = [[], []];
  };
  for (const [index, line] of lines.entries()) {
    const kind = kinds[index];
    if (kind === "old") old.push(line);
    else if (kind === "new") now.push(line);
    else {
      flush();
      if (kind === "same") add(besides(line, line, { width, left: asIs, right: asIs }));
      else shown.push(kind === "hunk" ? colours.cyan(line) : colours.bold(line));
    }
  }
  flush();
  return shown;
}

interface Beside {
  readonly width: number;
  readonly left: (text: string) => string;
  readonly right: (text: string) => string;
}

function besides(one: string, other: string, { width, left, right }: Beside): readonly string[] {
  const [lefts, rights] = [toRows(one, width), toRows(other, width)];
  const rows = Array.from({ length: Math.max(lefts.length, rights.length) }, (_, row) => row);
  return rows.map((row) => `${left(padTo(lefts[row] ?? "", width))}${BETWEEN}${right(rights[row] ?? "")}`.trimEnd());
}

function asIs(text: string): string {
  return text;
}
