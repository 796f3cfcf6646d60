import * as z from "zod";
import { maxBytesArgument } from "../max-bytes.ts";
import { defineOneOfSeveral } from "../one-of-several.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";

const Input = z.strictObject({
  action: z.enum(["list", "output", "input", "stop"]),
  process_id: z.string().min(1).max(64).optional().describe("Not for list"),
  offset: z.number().int().min(0).optional().describe("output: from this byte on. Absent: the newest"),
  wait_ms: z.number().int().min(0).max(60_000).optional().describe("output: wait so long for more, or the end"),
  max_bytes: maxBytesArgument(),
  text: z.string().optional().describe("input: what to write"),
  close: z.boolean().optional().describe("input: end it afterwards"),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

export const processTool = defineOneOfSeveral({
  name: "process",
  title: "Follow background processes",
  description: "Lists the processes that run_command has started with background, reads their output, writes to their input, or stops one.",
  toolset: "shell",
  input: Input,
  toCall: ({ action, ...args }) => ({ name: `process_${action}`, args }),
});
