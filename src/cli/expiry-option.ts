import type { CommandCall, OptionSpec } from "./command.ts";
import { textOption } from "./command.ts";
import { usage } from "./usage.ts";
import { parseDuration } from "./values.ts";

const DAYS_MAX = 3650;

/** Of what lets somebody in. */
export const EXPIRES: OptionSpec = {
  type: "string",
  value: "TIME",
  description: "It ends so long from now: 12h, 7d, at most 3650d (default: never)",
};

/** When it ends. Undefined if the command line names no time. Throws `USAGE`. */
export function expiryOption(call: CommandCall): Date | undefined {
  const text = textOption(call, "expires");
  if (text === undefined) return undefined;
  const ms = parseDuration("expires", text);
  if (ms > DAYS_MAX * 86_400_000)
    throw usage(`--expires "${text}" is more than ${DAYS_MAX}d: leave it out for no end`, `belljar ${call.spec.name} --help`);
  return new Date(Date.now() + ms);
}
