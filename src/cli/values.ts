import { toBytes } from "../config/size.ts";
import { BelljarError } from "../errors.ts";
import type { SecretUse, SecretUses } from "../network/policy.ts";
import { usage } from "./usage.ts";

const TIME_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a size such as `512m` to bytes. */
export function parseSize(option: string, text: string): number {
  const bytes = toBytes(text);
  if (bytes === undefined) throw bad(option, text, "a size such as 512m or 2g");
  return bytes;
}

/** Parses a time such as `30s` to milliseconds. A number without a unit is refused. */
export function parseDuration(option: string, text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/i.exec(text);
  const ms = Math.round(Number(match?.[1]) * (TIME_UNITS[match?.[2]?.toLowerCase() ?? ""] ?? Number.NaN));
  if (!Number.isSafeInteger(ms) || ms < 1) throw bad(option, text, "a time with its unit, such as 500ms, 30s, 5m or 1h");
  return ms;
}

export function parseCount(option: string, text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(count) || count < 1) throw bad(option, text, "a whole number above 0");
  return count;
}

export function parseCores(option: string, text: string): number {
  const cores = Number(text);
  if (!/^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) || !(cores > 0)) throw bad(option, text, "a number above 0, such as 0.5 or 2");
  return cores;
}

/** Parses `NAME=VALUE` pairs. A `NAME` without a value takes it from `inherited`, if that is given. */
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

const OPTION = /^([^=@]+)=([^=@]+)@(.+)$/;

/** Parses `VARIABLE=NAME@HOST[+HOST...]`, each variable once. Creating the sandbox checks the parts. Throws `USAGE`. */
export function parseSecretOptions(texts: readonly string[]): SecretUses {
  const uses = new Map<string, SecretUse>();
  for (const text of texts) {
    const [, variable, secret, hosts] = OPTION.exec(text) ?? [];
    if (variable === undefined || secret === undefined || hosts === undefined)
      throw usage(`--secret "${text}" is not VARIABLE=NAME@HOST[+HOST...]`, "belljar sandbox create --help");
    if (uses.has(variable)) throw usage(`--secret names the variable ${variable} twice`, "belljar sandbox create --help");
    uses.set(variable, { secret, hosts: hosts.split("+") });
  }
  return Object.fromEntries(uses);
}
