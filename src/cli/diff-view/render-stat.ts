import type { WorkspaceChange } from "../../sandbox/workspace/workspace-change.ts";
import type { Colours } from "../colours.ts";
import { greatest } from "../print.ts";
import { describeChange } from "./describe-change.ts";
import { padTo, shortenTo, textWidth } from "./text-width.ts";

const COLUMNS = 80;
const NAME_PART = 0.6;

interface Row {
  readonly name: string;
  readonly added: number;
  readonly removed: number;
  /** In place of numbers, for what has no lines. */
  readonly note?: string;
}

/** What `git diff --stat` shows: a line for each change, and the sum. */
export function renderStat(changes: readonly WorkspaceChange[], colours: Colours, columns: number = COLUMNS): string {
  if (changes.length === 0) return "";
  const rows = changes.map(toRow);
  const nameWidth = Math.min(greatest(rows.map(({ name }) => textWidth(name))), Math.floor(columns * NAME_PART));
  const most = greatest(rows.map(({ added, removed }) => added + removed));
  const numberWidth = String(most).length;
  const room = Math.max(1, columns - nameWidth - numberWidth - " |  ".length - 1);
  const scale = Math.min(1, room / Math.max(1, most));
  const lines = rows.map(({ name, added, removed, note }) => {
    const count =
      note ??
      `${String(added + removed).padStart(numberWidth)} ${bar(added, scale, colours.green, "+")}${bar(removed, scale, colours.red, "-")}`;
    return ` ${padTo(shortenTo(name, nameWidth), nameWidth)} | ${count}`.trimEnd();
  });
  return `${[...lines, sumUp(rows)].join("\n")}\n`;
}

function toRow(change: WorkspaceChange): Row {
  const note = describeChange(change);
  const lines = change.patch === undefined ? [] : change.patch.slice(change.patch.indexOf("\n@@ ")).split("\n");
  const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length;
  return {
    name: change.path,
    added: count("+"),
    removed: count("-"),
    ...(change.patch === undefined && { note: note === "" ? "0" : note }),
  };
}

/** Whoever has lines has a sign at least. */
function bar(lines: number, scale: number, paint: (text: string) => string, sign: string): string {
  return lines === 0 ? "" : paint(sign.repeat(Math.max(1, Math.floor(lines * scale))));
}

function sumUp(rows: readonly Row[]): string {
  const [added, removed] = [rows.reduce((sum, row) => sum + row.added, 0), rows.reduce((sum, row) => sum + row.removed, 0)];
  return ` ${rows.length} changed, ${added} line(s) added, ${removed} line(s) removed`;
}
