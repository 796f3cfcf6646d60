/** What a text should have been, for every message about a time. */
export const A_TIME = "a time with its unit, such as 500ms, 30s, 5m or 1h";

const UNITS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Converts a time such as `30s` to milliseconds. Returns undefined for an invalid time, and for a number without a unit. */
export function toMilliseconds(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/i.exec(text);
  const ms = Math.round(Number(match?.[1]) * (UNITS[match?.[2]?.toLowerCase() ?? ""] ?? Number.NaN));
  return Number.isSafeInteger(ms) && ms >= 1 ? ms : undefined;
}

/** Writes milliseconds as `toMilliseconds` reads them, with the largest unit that leaves a whole number. */
export function formatDuration(ms: number): string {
  const [unit, length] = Object.entries(UNITS).find(([, one]) => ms > 0 && ms % one === 0) ?? ["ms", 1];
  return `${ms / length}${unit}`;
}
