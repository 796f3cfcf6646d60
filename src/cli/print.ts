import type { Writable } from "node:stream";
import { printable, printableJson, printableText } from "../files/printable.ts";
import { coloursFor } from "./colours.ts";

/** Prints JSON: in one line for machines, indented at a terminal. */
export function printJson(stdout: Writable & { readonly isTTY?: boolean }, value: unknown): void {
  stdout.write(`${printableJson(JSON.stringify(value, null, stdout.isTTY ? 2 : 0))}\n`);
}

/** Prints one or several lines. Characters that could control the terminal are escaped. */
export function printLine(out: Writable, text: string): void {
  out.write(`${printableText(text)}\n`);
}

/** Prints lines of Belljar's own beside a program's output. */
export function printProblems(stderr: Writable, lines: readonly string[]): void {
  for (const line of lines) stderr.write(`belljar: ${printable(line)}\n`);
}

/** A text of somebody else's: no line of it but the first begins where Belljar's own lines do. */
export function indented(text: string): string {
  return text.replaceAll("\n", "\n  ");
}

/** What of a state is not as it was, in a sandbox that begins with it. */
export function printLost(stderr: Writable, lost: readonly string[] = []): void {
  for (const one of lost) printLine(stderr, `Not as it was: ${one}`);
}

/** `1 call`, `2 calls`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

type Cells = readonly string[];

/** Prints a table with aligned columns, below a heading if there is one. Line breaks in cells are escaped. */
export function printTable(stdout: Writable & { readonly isTTY?: boolean }, cells: readonly Cells[], heading?: Cells): void {
  const rows = [...(heading ? [heading] : []), ...cells].map((row) => row.map(printable));
  const widths = (rows[0] ?? []).map((_, column) => greatest(rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => toLine(row, widths));
  const { bold } = coloursFor(stdout);
  for (const [index, line] of lines.entries()) stdout.write(`${heading && index === 0 ? bold(line) : line}\n`);
}

/** The greatest of any number of numbers: `Math.max` takes as many as the stack has room for. 0 if there is none above it. */
export function greatest(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}

function toLine(row: Cells, widths: readonly number[]): string {
  const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  return cells.join("  ").trimEnd();
}

export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[power]}`;
}

/** Formats a time as `in 59 minutes` or `3 minutes ago`. */
export function formatWhen(date: Date, now: Date = new Date()): string {
  const seconds = Math.round((date.getTime() - now.getTime()) / 1000);
  if (seconds === 0) return "now";
  const text = formatSeconds(Math.abs(seconds));
  return seconds >= 0 ? `in ${text}` : `${text} ago`;
}

/** Each unit is used from two of it on. */
const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

function formatSeconds(seconds: number): string {
  for (const [unit, length] of UNITS) if (seconds >= 2 * length) return `${Math.round(seconds / length)} ${unit}s`;
  return plural(seconds, "second");
}
