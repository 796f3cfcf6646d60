import * as z from "zod";

/** What Linux takes as one argument, without its closing NUL. */
const ARGUMENT_MAX_BYTES = 131_071;
const NAME_MAX = 256;
const PAIR_MAX = 65_536 + NAME_MAX;
export const HOUR_MS = 3_600_000;

export function commandArgument(description: string) {
  return z
    .string()
    .min(1)
    .refine(
      (command) => Buffer.byteLength(command) <= ARGUMENT_MAX_BYTES,
      `must have at most ${ARGUMENT_MAX_BYTES} bytes; write a script file and run that`,
    )
    .refine((command) => !command.includes("\0"), "must not hold a NUL byte")
    .describe(description);
}

/**
 * Names with values, as a list that every vendor's schemas know. An object of them is taken too (see `easeArguments`). Of two of one name
 * the last one counts.
 */
export function pairsArgument() {
  const pair = z
    .string()
    .max(PAIR_MAX)
    .regex(/^[^=\0]+=[^\0]*$/, "must be NAME=value, with a name and without NUL")
    .refine((text) => text.indexOf("=") <= NAME_MAX, `the name must have at most ${NAME_MAX} characters`);
  return z.array(pair).transform((pairs) => Object.fromEntries(pairs.map(toEntry)));
}

function toEntry(pair: string): [string, string] {
  const at = pair.indexOf("=");
  return [pair.slice(0, at), pair.slice(at + 1)];
}

export function envArgument() {
  return pairsArgument().optional().describe('Environment variables to add, as ["NAME=value"]');
}

/** Whoever a command runs as. Names are the sandbox's own, so the guest alone knows which there are. */
export function userArgument() {
  return z
    .string()
    .max(64)
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, "must be a name or an id, as root")
    .optional()
    .describe("root, or user (default)");
}

export function timeoutArgument(description: string) {
  return z.number().int().min(1).max(HOUR_MS).optional().describe(description);
}
