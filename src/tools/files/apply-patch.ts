import { posix } from "node:path";
import * as z from "zod";
import type { Tool, ToolContext, ToolResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import type { ChangeResult, FileChanger } from "./file-changer.ts";
import { UNDO_PROBLEM, undoField, undoText } from "./file-changer.ts";
import { showName } from "./file-row.ts";
import { parsePatch } from "./patch/parse-patch.ts";
import type { PlannedChange } from "./patch/patch-plan.ts";
import { planPatch, runPlan } from "./patch/patch-plan.ts";

const PATCH_MAX = 3 * 1_048_576;

const Input = z.strictObject({
  patch: z
    .string()
    .min(1)
    .max(PATCH_MAX)
    .describe('A unified diff, as git diff prints it, or a patch from "*** Begin Patch" to "*** End Patch"'),
  cwd: pathArgument("Folder that the patch's paths start at, by default the workspace").optional(),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Output = z.object({
  files: z.array(
    z.object({
      path: z.string(),
      status: z.enum(["added", "modified", "deleted"]).describe("A renamed file is one added and one deleted"),
      size: z.number().int().nullable().describe("Bytes of the file now; null when deleted"),
    }),
  ),
  undo_problem: UNDO_PROBLEM,
});

type Arguments = z.output<typeof Input>;
type Row = z.output<typeof Output>["files"][number];

export function createApplyPatch(changer: FileChanger): Tool {
  return defineTool({
    name: "apply_patch",
    title: "Apply a patch",
    description: [
      "Changes, adds, renames and deletes several text files in your sandbox by one patch: all of it, or nothing when a part does not fit.",
      "The patch is a unified diff, or of this form:",
      "*** Begin Patch",
      "*** Update File: src/a.py",
      "@@ def f():",
      " a line that stays",
      "-a line that goes",
      "+a line that comes",
      "*** Add File: src/b.py",
      "+its first line",
      "*** Delete File: old.py",
      "*** End Patch",
      '"*** Move to: PATH" after "Update File" renames. Hunks are found by their lines; line numbers only help. undo_edit takes back each file.',
    ].join("\n"),
    toolset: "files",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    input: Input,
    output: Output,
    run: (context, args) => applyPatch(context, args, changer),
  });
}

async function applyPatch(context: ToolContext, args: Arguments, changer: FileChanger): Promise<ToolResult> {
  const { signal } = context;
  const patches = parsePatch(args.patch);
  const base = toAbsolute(args.cwd ?? ".");
  const sandbox = await context.sandbox(args.sandbox);
  return changer.alone(sandbox, signal, async () => {
    const changes = await planPatch(sandbox, patches, { resolve: (path) => posix.resolve(base, path), signal });
    const results = await runPlan(sandbox, changes, signal);
    return toToolResult(changes, results.find(({ notKept }) => notKept !== undefined) ?? {});
  });
}

function toToolResult(changes: readonly PlannedChange[], change: ChangeResult): ToolResult {
  const files = changes.map(toRow);
  const lines = files.map(({ path, status, size }) => `${status} ${showName(path)}${size === null ? "" : ` (${size} bytes now)`}`);
  const heading =
    files.length === 0 ? "The patch changes nothing: the files are so already" : `The patch is applied; files: ${files.length}`;
  return {
    content: [{ type: "text", text: [heading, ...lines].join("\n") + undoText(change) }],
    structuredContent: { files, ...undoField(change) },
  };
}

function toRow({ path, before, after }: PlannedChange): Row {
  const status = !after ? "deleted" : before.content ? "modified" : "added";
  return { path, status, size: after?.length ?? null };
}
