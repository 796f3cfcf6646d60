import type { Writable } from "node:stream";

/** One line for machines, indented for a person at a terminal. */
export function printJson(stdout: Writable & { readonly isTTY?: boolean }, value: unknown): void {
  stdout.write(`${JSON.stringify(value, null, stdout.isTTY ? 2 : 0)}\n`);
}

export function printLine(out: Writable, text: string): void {
  out.write(`${text}\n`);
}

/** Columns as wide as what stands in them; the last one is free. */
export function printTable(stdout: Writable, rows: readonly (readonly string[])[]): void {
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

/** Control characters could rewrite the terminal: names from a sandbox are hostile. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[power]}`;
}

/** `in 59m`, `3m ago`. */
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
