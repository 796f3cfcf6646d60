import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { autoCheckpoint } from "../../sandbox/wire/fields.ts";
import { labelsSchema } from "../../sandbox/wire/texts-schema.ts";
import { pairsArgument } from "../shell/command-argument.ts";
import { Created, limitArguments, lostField, toCreated, toLimits } from "./sandbox-results.ts";
import { fitShown } from "./state-results.ts";

const Input = z.strictObject({
  template: z.string().min(1).max(63).optional().describe("Template or snapshot that it starts from; default base"),
  runtime: z.string().min(1).max(40).optional().describe("Which of the server's runtimes makes it; default the server's choice"),
  ...limitArguments,
  timeout_s: z.number().int().min(1).max(31_536_000).optional().describe("How long it lives without being extended"),
  auto_checkpoint: autoCheckpoint
    .optional()
    .describe("per_call: remember its files before each call that may write; default the server's choice"),
  metadata: pairsArgument().pipe(labelsSchema).optional().describe('Labels to find it by, as ["NAME=value"]'),
});

const Output = z.object({ lost: lostField, ...Created.shape });

export function createSandboxCreate(sandboxes: Pick<Sandboxes, "create">): Tool {
  return defineDataTool({
    name: "sandbox_create",
    title: "Make a sandbox",
    description: [
      "Makes another sandbox of your own, beside your default one, and returns its id. Use it for work that must not touch what you have.",
      "Give the id as `sandbox` to the tools for files, shell, search and code, or to the other sandbox tools as `id`.",
      "It ends at its deadline or with sandbox_kill, and its files with it.",
    ].join("\n"),
    toolset: "sandbox",
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    input: Input,
    output: Output,
    async run(context, { template, runtime, timeout_s: timeoutS, auto_checkpoint: auto, metadata, ...limits }) {
      const options = {
        limits: toLimits(limits),
        ...(template !== undefined && { template }),
        ...(runtime !== undefined && { runtime }),
        ...(timeoutS !== undefined && { timeoutMs: timeoutS * 1_000 }),
        ...(auto !== undefined && { autoCheckpoint: auto }),
        ...(metadata && { metadata }),
      };
      const sandbox = await sandboxes.create(context.principal, options, context.signal);
      const { lost = [] } = sandbox;
      return dataResult({ ...(lost.length > 0 && { lost: fitShown(lost) }), ...(await toCreated(sandbox)) });
    },
  });
}
