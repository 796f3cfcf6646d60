import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { acceptSandbox } from "../other-names.ts";
import { ownIdArgument } from "./sandbox-results.ts";
import { ShownCheckpoint, fitShown, toShownCheckpoint } from "./state-results.ts";

const Output = z.object({
  checkpoints: z.array(ShownCheckpoint).describe("The newest first"),
  head_id: z.string().nullable().describe("The checkpoint that its files come from now; null before the first one"),
  omitted: z.number().int().optional().describe("Older ones that are not shown"),
});

export const sandboxLog = defineDataTool({
  name: "sandbox_log",
  title: "List the checkpoints of a sandbox",
  description: "Lists the checkpoints of a sandbox, the newest first, and which of them its files come from now.",
  toolset: "sandbox",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  accept: acceptSandbox,
  input: z.strictObject({ id: ownIdArgument() }),
  output: Output,
  async run(context, { id }) {
    const { checkpoints, head } = await (await context.sandbox(id, { asIs: true })).timeLine.list();
    const all = checkpoints.toReversed().map(toShownCheckpoint);
    const shown = fitShown(all);
    const omitted = all.length - shown.length;
    return dataResult({ checkpoints: shown, head_id: head ?? null, ...(omitted > 0 && { omitted }) });
  },
});
