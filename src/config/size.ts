/** What a text should have been, for every message about a size. */
export const A_SIZE = "a size such as 512m or 2g";

const UNITS: Readonly<Record<string, number>> = { "": 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** Converts a size such as `512m` to bytes. Returns undefined for an invalid size, or for less than one byte. */
export function toBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?$/i.exec(text);
  const bytes = Math.floor(Number(match?.[1]) * (UNITS[match?.[2]?.toLowerCase() ?? ""] ?? Number.NaN));
  return Number.isSafeInteger(bytes) && bytes >= 1 ? bytes : undefined;
}

/** Writes bytes as `toBytes` reads them, with the largest unit that leaves a whole number. */
export function formatSize(bytes: number): string {
  const unit = ["t", "g", "m", "k"].find((name) => bytes > 0 && bytes % (UNITS[name] ?? 1) === 0) ?? "";
  return `${bytes / (UNITS[unit] ?? 1)}${unit}`;
}
