import * as z from "zod";

/** The optional argument of every tool that works in a sandbox. */
export function sandboxArgument(absent: string) {
  return z.string().min(1).max(64).optional().describe(`Id of another sandbox of yours to use. Absent: ${absent}`);
}

export const DEFAULT_SANDBOX = "your default sandbox, which is made on first use and keeps its files between calls";
