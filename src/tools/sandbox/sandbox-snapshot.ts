import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { snapshotOptionsSchema } from "../../sandbox/wire/state-schemas.ts";
import { acceptSandbox } from "../other-names.ts";
import { ownIdArgument } from "./sandbox-results.ts";
import { ShownSnapshot, toShownSnapshot } from "./state-results.ts";

const { name, description, whole } = snapshotOptionsSchema.shape;

const Input = z.strictObject({
  id: ownIdArgument(),
  name: name.describe("Unique among your snapshots; sandbox_fork and sandbox_snapshots take it in place of the id"),
  description: description.describe("For whoever reads the list of snapshots"),
  whole: whole.describe("Take in the workspace's own files too. Forks then have them as their own and show no folder of the host"),
});

export function createSandboxSnapshot({ snapshots }: Pick<Sandboxes, "snapshots">): Tool {
  return defineDataTool({
    name: "sandbox_snapshot",
    title: "Snapshot a sandbox",
    description: [
      "Keeps the files of a sandbox as they are now, under an id that outlives it; sandbox_fork makes new sandboxes from it.",
      "It holds no processes, no variables of run_code, and of a workspace only what the sandbox itself has changed, unless `whole` is set.",
      "To go back in the same sandbox use sandbox_checkpoint.",
    ].join("\n"),
    toolset: "sandbox",
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    accept: acceptSandbox,
    input: Input,
    output: ShownSnapshot,
    async run(context, { id, ...options }) {
      const sandbox = await context.sandbox(id, { asIs: true });
      return dataResult(toShownSnapshot(await snapshots.create(context.principal, sandbox.id, options, context.signal)));
    },
  });
}
