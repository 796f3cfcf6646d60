import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { ShownSnapshot, fitShown, toShownSnapshot } from "./state-results.ts";

const Input = z.strictObject({
  action: z.enum(["list", "remove"]),
  snapshot_id: z.string().min(1).max(64).optional().describe("For remove: its id or name"),
});

const Output = z.object({
  snapshots: z.array(ShownSnapshot).describe("The newest first"),
  omitted: z.number().int().optional().describe("Older ones that are not shown"),
});

export function createSandboxSnapshots({ snapshots }: Pick<Sandboxes, "snapshots">): Tool {
  return defineDataTool({
    name: "sandbox_snapshots",
    title: "List or remove snapshots",
    description:
      "Lists your snapshots, or removes one. Sandboxes that were made from it keep their files. Answers the snapshots that there are.",
    toolset: "sandbox",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    listsOrEnds: true,
    input: Input,
    output: Output,
    async run({ principal }, { action, snapshot_id: id }) {
      if (action === "remove") await snapshots.remove(principal, named(id));
      const all = (await snapshots.list(principal)).map(toShownSnapshot);
      const shown = fitShown(all);
      return dataResult({ snapshots: shown, ...(shown.length < all.length && { omitted: all.length - shown.length }) });
    },
  });
}

function named(id: string | undefined): string {
  if (id === undefined) throw new BelljarError("ARGUMENTS_INVALID", 'remove needs a snapshot_id; action "list" shows which there are');
  return id;
}
