import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { idArgument } from "./sandbox-results.ts";

export const sandboxKill = defineDataTool({
  name: "sandbox_kill",
  title: "End a sandbox",
  description: "Ends one of your sandboxes at once, with its processes, files and checkpoints. Its snapshots and forks stay.",
  toolset: "sandbox",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  listsOrEnds: true,
  input: z.strictObject({ id: idArgument() }),
  output: z.object({ ok: z.literal(true) }),
  async run(context, { id }) {
    const sandbox = await context.sandbox(id, { asIs: true });
    await sandbox.kill();
    return dataResult({ ok: true });
  },
});
