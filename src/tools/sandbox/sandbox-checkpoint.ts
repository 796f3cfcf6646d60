import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { checkpointOptionsSchema } from "../../sandbox/wire/state-schemas.ts";
import { acceptSandbox } from "../other-names.ts";
import { ownIdArgument } from "./sandbox-results.ts";
import { ShownCheckpoint, toShownCheckpoint } from "./state-results.ts";

const { label } = checkpointOptionsSchema.shape;

export const sandboxCheckpoint = defineDataTool({
  name: "sandbox_checkpoint",
  title: "Remember the files of a sandbox",
  description: [
    "Remembers all files of your sandbox as they are now, so that sandbox_rollback can go back and sandbox_diff can show what changed since.",
    "Take one before a risky step. It holds files alone: no processes and no variables of run_code.",
  ].join("\n"),
  toolset: "sandbox",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  accept: acceptSandbox,
  input: z.strictObject({ id: ownIdArgument(), label: label.describe('A few words, as "before the upgrade"') }),
  output: ShownCheckpoint,
  async run(context, { id, label: words }) {
    const sandbox = await context.sandbox(id, { asIs: true });
    const taken = await sandbox.timeLine.checkpoint({ ...(words !== undefined && { label: words }) }, context.signal);
    return dataResult(toShownCheckpoint(taken));
  },
});
