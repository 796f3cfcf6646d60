import * as z from "zod";
import type { Tool, ToolContext } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import type { ForkSource, Sandboxes } from "../../sandbox/sandbox.ts";
import { labelsSchema } from "../../sandbox/wire/texts-schema.ts";
import { acceptSnapshot } from "../other-names.ts";
import { pairsArgument } from "../shell/command-argument.ts";
import { fitShown } from "./state-results.ts";
import { Created, idArgument, limitArguments, lostField, toCreated, toLimits } from "./sandbox-results.ts";

const COUNT_MAX = 100;

const Input = z
  .strictObject({
    id: idArgument().optional().describe("Sandbox to copy as it is now; default: your default sandbox"),
    snapshot_id: z.string().min(1).max(64).optional().describe("Id or name of a snapshot to start from instead"),
    count: z.number().int().min(1).max(COUNT_MAX).optional().describe("How many; the answer is then a list"),
    ...limitArguments,
    timeout_s: z.number().int().min(1).max(31_536_000).optional().describe("How long each lives without being extended"),
    metadata: pairsArgument().pipe(labelsSchema).optional().describe('Labels to find them by, as ["NAME=value"]'),
  })
  .refine(({ id, snapshot_id: snapshot }) => id === undefined || snapshot === undefined, {
    path: ["snapshot_id"],
    message: "excludes id; give one of the two",
  });

const Output = z.object({
  lost: lostField,
  ...Created.partial().shape,
  sandboxes: z.array(Created).optional().describe("When count was given"),
});

export function createSandboxFork({ snapshots }: Pick<Sandboxes, "snapshots">): Tool {
  return defineDataTool({
    name: "sandbox_fork",
    title: "Fork a sandbox",
    description: [
      "Makes new sandboxes with the files of a sandbox as it is now, or of a snapshot, and returns their ids. Try several ideas at once in them.",
      "Processes, variables of run_code, network rules, secrets and links to ports are not copied.",
      "Give an id as `sandbox` to other tools; sandbox_merge brings a fork's changes back.",
    ].join("\n"),
    toolset: "sandbox",
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    accept: acceptSnapshot,
    input: Input,
    output: Output,
    async run(context, { id, snapshot_id: snapshot, count, timeout_s: timeoutS, metadata, ...limits }) {
      const options = {
        ...(count !== undefined && { count }),
        limits: toLimits(limits),
        ...(timeoutS !== undefined && { timeoutMs: timeoutS * 1_000 }),
        ...(metadata && { metadata }),
      };
      const made = await snapshots.fork(context.principal, await sourceOf(context, { id, snapshot }), options, context.signal);
      const shown = await Promise.all(made.map(toCreated));
      const lost = made.lost.length > 0 && { lost: fitShown(made.lost) };
      return dataResult({ ...lost, ...(count === undefined ? shown[0] : { sandboxes: shown }) });
    },
  });
}

async function sourceOf(
  context: ToolContext,
  source: { readonly id?: string | undefined; readonly snapshot?: string | undefined },
): Promise<ForkSource> {
  return source.snapshot === undefined ? { sandbox: (await context.sandbox(source.id, { asIs: true })).id } : { snapshot: source.snapshot };
}
