const UNITS: Readonly<Record<string, number>> = { "": 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** `512m` -> bytes; undefined for what is no size of at least one byte. */
export function toBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?$/i.exec(text);
  const bytes = Math.floor(Number(match?.[1]) * (UNITS[match?.[2]?.toLowerCase() ?? ""] ?? Number.NaN));
  return Number.isSafeInteger(bytes) && bytes >= 1 ? bytes : undefined;
}
