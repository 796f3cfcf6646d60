import type { Writable } from "node:stream";
import { printable, printableJson, printableText } from "../files/printable.ts";

/** Prints JSON: in one line for machines, indented at a terminal. */
export function printJson(stdout: Writable & { readonly isTTY?: boolean }, value: unknown): void {
  stdout.write(`${printableJson(JSON.stringify(value, null, stdout.isTTY ? 2 : 0))}\n`);
}

/** Prints one or several lines. Characters that could control the terminal are escaped. */
export function printLine(out: Writable, text: string): void {
  out.write(`${printableText(text)}\n`);
}

/** Prints a table with aligned columns. Line breaks in cells are escaped. */
export function printTable(stdout: Writable, cells: readonly (readonly string[])[]): void {
  const rows = cells.map((row) => row.map(printable));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows)
    printLine(
      stdout,
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[power]}`;
}

/** Formats a time as `in 59m` or `3m ago`. */
export function formatWhen(date: Date, now: Date = new Date()): string {
  const seconds = Math.round((date.getTime() - now.getTime()) / 1000);
  if (seconds === 0) return "now";
  const text = formatSeconds(Math.abs(seconds));
  return seconds >= 0 ? `in ${text}` : `${text} ago`;
}

function formatSeconds(seconds: number): string {
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)}h`;
  return `${Math.round(seconds / 86_400)}d`;
}
