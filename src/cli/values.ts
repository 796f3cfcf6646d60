import { toBytes } from "../config/size.ts";
import { BelljarError } from "../errors.ts";

const TIME_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `512m` -> bytes. */
export function parseSize(option: string, text: string): number {
  const bytes = toBytes(text);
  if (bytes === undefined) throw bad(option, text, "a size as 512m or 2g");
  return bytes;
}

/** `30s` -> milliseconds. A bare number says no unit, so it is refused. */
export function parseDuration(option: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/i.exec(text);
  const ms = Math.round(Number(match?.[1]) * (TIME_UNITS[match?.[2]?.toLowerCase() ?? ""] ?? Number.NaN));
  if (!Number.isSafeInteger(ms) || ms < 1) throw bad(option, text, "a time with its unit, as 500ms, 30s, 5m or 1h");
  return ms;
}

export function parseCount(option: string, text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(count) || count < 1) throw bad(option, text, "a whole number above 0");
  return count;
}

export function parseCores(option: string, text: string): number {
  const cores = Number(text);
  if (!/^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) || !(cores > 0)) throw bad(option, text, "a number above 0, as 0.5 or 2");
  return cores;
}

/** `NAME=VALUE` pairs; a bare `NAME` takes its value from `inherited`, when that is given. */
export function parsePairs(
  option: string,
  texts: readonly string[],
  inherited?: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(texts.map((text) => parsePair(option, text, inherited)));
}

function parsePair(option: string, text: string, inherited?: Readonly<Record<string, string | undefined>>): readonly [string, string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  const value = at < 0 && text !== "" ? inherited?.[text] : undefined;
  if (value === undefined) throw bad(option, text, inherited ? "NAME=VALUE, or the NAME of a variable that is set" : "KEY=VALUE");
  return [text, value];
}

function bad(option: string, text: string, expected: string): BelljarError {
  return new BelljarError("USAGE", `--${option} "${text}" is not ${expected}`);
}
