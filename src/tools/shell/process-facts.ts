import * as z from "zod";
import type { BackgroundProcess } from "./background-processes.ts";

export const processArgument = z.string().min(1).max(64).describe("Id that run_background answered");

/** What every tool of background processes says of one. */
export const PROCESS_FACTS = {
  process_id: z.string(),
  state: z.enum(["running", "exited", "lost"]).describe("lost: it ended and nobody saw how, as in a copy of a sandbox"),
  exit_code: z.number().int().nullable().describe("null while it runs; 128 + N when signal N ended it"),
  pid: z.number().int().nullable().describe("Inside the sandbox; it leads a process group of its own"),
};

export function processFacts({ id, state, exitCode, pid }: BackgroundProcess) {
  return { process_id: id, state, exit_code: exitCode ?? null, pid: pid ?? null };
}
