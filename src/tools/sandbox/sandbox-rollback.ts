import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { checkpointBeforeCalls } from "../../sandbox/state/last-call.ts";
import { acceptCheckpoint } from "../other-names.ts";
import { toAbsolute } from "../sandbox-path.ts";
import { ownIdArgument } from "./sandbox-results.ts";
import { fitShown, pathsArgument, ShownPaths, toShownPaths } from "./state-results.ts";

const Input = z.strictObject({
  id: ownIdArgument(),
  checkpoint_id: z.string().min(1).max(64).optional().describe("Checkpoint or snapshot of this sandbox"),
  calls: z.number().int().min(1).max(500).optional().describe("Instead: how many calls to take back"),
  paths: pathsArgument("Put back these alone"),
});

const Output = z.object({
  checkpoint_id: z.string(),
  ended: z.array(z.string()).optional().describe("Contexts and background processes that ended"),
  lost: z.array(z.string()).optional().describe("What could not be put back"),
  ...ShownPaths.partial().shape,
});

export const sandboxRollback = defineDataTool({
  name: "sandbox_rollback",
  title: "Go back to a checkpoint",
  description: [
    "Puts all files of your sandbox back to a checkpoint. What was written since is gone unless a later checkpoint holds it, and all its",
    "processes and contexts end. `calls` takes back the last calls that may have written. With `paths` only these are put back, and",
    "nothing ends.",
  ].join("\n"),
  toolset: "sandbox",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  accept: acceptCheckpoint,
  input: Input,
  output: Output,
  async run(context, { id, checkpoint_id: named, calls, paths }) {
    // Looked up before this call has a checkpoint of its own.
    const point = await findPoint(await context.sandbox(id, { asIs: true }), { named, calls });
    const sandbox = await context.sandbox(id);
    const { timeLine } = sandbox;
    if (paths) {
      const undone = await timeLine.undo(
        point,
        paths.map((path) => toAbsolute(sandbox, path)),
        context.signal,
      );
      return dataResult({ checkpoint_id: point, ...toShownPaths(undone) });
    }
    const { checkpoint, ended, lost } = await timeLine.rollback(point, context.signal);
    await context.sandbox(id); // this result tells what ended, and no later one
    return dataResult({ checkpoint_id: checkpoint, ended: fitShown(ended), lost: fitShown(lost) });
  },
});

async function findPoint(sandbox: Sandbox, { named, calls }: { readonly named?: string | undefined; readonly calls?: number | undefined }) {
  if (named !== undefined && calls === undefined) return named;
  if (named === undefined && calls !== undefined) return (await checkpointBeforeCalls(sandbox, calls)).id;
  throw new BelljarError("ARGUMENTS_INVALID", "Give either checkpoint_id, or calls with a number of calls to take back");
}
