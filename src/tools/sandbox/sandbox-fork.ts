import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { limitArguments } from "./sandbox-results.ts";

export const sandboxFork = defineDataTool({
  name: "sandbox_fork",
  title: "Fork a sandbox from a snapshot",
  description: "Not supported yet. Make a sandbox with sandbox_create and copy what it needs.",
  toolset: "sandbox",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({ snapshot_id: z.string().min(1).max(64).describe("Id of one of your snapshots"), ...limitArguments }),
  output: z.object({ id: z.string(), short_id: z.string(), ip: z.string().nullable() }),
  async run() {
    throw new BelljarError("NOT_SUPPORTED", "Snapshots are not available yet: make a sandbox with sandbox_create and copy what it needs");
  },
});
