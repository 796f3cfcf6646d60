import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { acceptMerge } from "../other-names.ts";
import { toAbsolute } from "../sandbox-path.ts";
import { idArgument, ownIdArgument } from "./sandbox-results.ts";
import { pathsArgument, ShownPaths, toShownPaths } from "./state-results.ts";

export const sandboxMerge = defineDataTool({
  name: "sandbox_merge",
  title: "Merge a fork's changes",
  description: [
    "Brings into your sandbox what another one has changed since both had the same files: a fork of it, or another fork of the same one.",
    "Texts that both changed are merged line by line. What cannot be merged is left as it is and named under conflicts.",
  ].join("\n"),
  toolset: "sandbox",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  accept: acceptMerge,
  input: z.strictObject({
    id: ownIdArgument(),
    from_id: idArgument().describe("Id or name of the sandbox whose changes are wanted"),
    paths: pathsArgument("Only these files and folders"),
  }),
  output: ShownPaths,
  async run(context, { id, from_id: fromId, paths }) {
    const sandbox = await context.sandbox(id);
    const from = await context.sandbox(fromId, { asIs: true });
    const merged = await sandbox.timeLine.merge(
      from,
      paths?.map((path) => toAbsolute(from, path)),
      context.signal,
    );
    return dataResult(toShownPaths(merged));
  },
});
