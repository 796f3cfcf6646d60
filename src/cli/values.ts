import { A_TIME, toMilliseconds } from "../config/duration.ts";
import { A_SIZE, toBytes } from "../config/size.ts";
import { BelljarError } from "../errors.ts";
import type { SecretUse, SecretUses } from "../network/policy.ts";
import { usage } from "./usage.ts";

/** Parses a size such as `512m` to bytes. */
export function parseSize(option: string, text: string): number {
  const bytes = toBytes(text);
  if (bytes === undefined) throw bad(option, text, A_SIZE);
  return bytes;
}

/** Parses a time such as `30s` to milliseconds. A number without a unit is refused. */
export function parseDuration(option: string, text: string): number {
  const ms = toMilliseconds(text);
  if (ms === undefined) throw bad(option, text, A_TIME);
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

/** An argument that is no option is named in capitals, as in the command's usage. */
function bad(name: string, text: string, expected: string): BelljarError {
  return new BelljarError("USAGE", `${/^[A-Z]+$/.test(name) ? name : `--${name}`} "${text}" is not ${expected}`);
}

const OPTION = /^([^=@]+)=([^=@]+)@(.+)$/;

/** Parses `VARIABLE=NAME@HOST[+HOST...]`, each variable once. Creating the sandbox checks the parts. Throws `USAGE`, which names the help of the command. */
export function parseSecretOptions(texts: readonly string[], help: string): SecretUses {
  const uses = new Map<string, SecretUse>();
  for (const text of texts) {
    const [, variable, secret, hosts] = OPTION.exec(text) ?? [];
    if (variable === undefined || secret === undefined || hosts === undefined)
      throw usage(`--secret "${text}" is not VARIABLE=NAME@HOST[+HOST...]`, help);
    if (uses.has(variable)) throw usage(`--secret names the variable ${variable} twice`, help);
    uses.set(variable, { secret, hosts: hosts.split("+") });
  }
  return Object.fromEntries(uses);
}
