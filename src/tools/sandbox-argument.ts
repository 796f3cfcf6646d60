import * as z from "zod";

/** The optional argument of every tool that works in a sandbox. */
export function sandboxArgument(absent: string) {
  return z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe(absent === DEFAULT_SANDBOX ? "Id of another sandbox than your default one" : `Id of a sandbox. Absent: ${absent}`);
}

export const DEFAULT_SANDBOX = "your default sandbox, which is made on first use and keeps its files between calls";
