import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import { idArgument } from "./sandbox-results.ts";

export const sandboxSnapshot = defineDataTool({
  name: "sandbox_snapshot",
  title: "Snapshot a sandbox",
  description: "Not supported yet. Save files with run_command, as `tar`, or copy them out.",
  toolset: "sandbox",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  input: z.strictObject({ id: idArgument(), description: z.string().max(1_000).optional() }),
  output: z.object({ snapshot_id: z.string(), zfs_snapshot: z.string(), created_at: z.string() }),
  async run(context, { id }) {
    await context.sandbox(id, { asIs: true });
    throw new BelljarError("NOT_SUPPORTED", "Snapshots are not available yet: save files with `tar`, or copy them out");
  },
});
