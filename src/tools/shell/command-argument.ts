import * as z from "zod";

/** What Linux takes as one argument, without its closing NUL. */
const ARGUMENT_MAX_BYTES = 131_071;
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

export function envArgument() {
  return z
    .record(
      z
        .string()
        .max(256)
        .regex(/^[^=\0]+$/, "a variable's name must not be empty or hold = or NUL"),
      z
        .string()
        .max(65_536)
        .regex(/^[^\0]*$/, "must not hold a NUL byte"),
    )
    .optional()
    .describe("Environment variables to add");
}

export function timeoutArgument(description: string) {
  return z.number().int().min(1).max(HOUR_MS).optional().describe(description);
}
