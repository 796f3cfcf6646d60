import * as z from "zod";
import type { Tool, ToolContext, TextResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import type { KnownFile } from "../../text/patch/plan-patch.ts";
import type { Texts } from "../../text/texts.ts";
import { otherNames } from "../../catalog/accept.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import type { ChangeResult, FileChanger } from "./file-changer.ts";
import { UNDO_PROBLEM, undoField, undoText } from "./file-changer.ts";
import { showName } from "./file-row.ts";
import type { FileState } from "./file-state.ts";
import type { PlannedChange } from "./patch-files.ts";
import { changeFiles, readFiles } from "./patch-files.ts";

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

export function createApplyPatch(changer: FileChanger, texts: Texts): Tool {
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
    accept: otherNames({ input: "patch", diff: "patch", patch_text: "patch" }),
    input: Input,
    value: Output,
    run: (context, args) => applyPatch(context, args, { changer, texts }),
  });
}

interface Means {
  readonly changer: FileChanger;
  readonly texts: Texts;
}

async function applyPatch(context: ToolContext, args: Arguments, { changer, texts }: Means): Promise<TextResult> {
  const { signal } = context;
  const call = { owner: context.principal.id, signal };
  const sandbox = await context.sandbox(args.sandbox);
  const request = { patch: args.patch, base: toAbsolute(sandbox, args.cwd ?? ".") };
  const paths = await texts.run("listPatchPaths", request, call);
  return changer.alone(sandbox, signal, async () => {
    const files = await readFiles(sandbox, paths, signal);
    const patched = await texts.run("planPatch", { ...request, files }, call);
    const changes = patched.map((change) => ({ ...change, before: stateOf(files.get(change.path)) }));
    const results = await changeFiles(sandbox, changes, signal);
    return toToolResult(changes, results.find(({ notKept }) => notKept !== undefined) ?? {});
  });
}

/** What has a problem is in no plan. */
function stateOf(file: KnownFile | undefined): FileState {
  return file && "content" in file ? file : { content: undefined };
}

function toToolResult(changes: readonly PlannedChange[], change: ChangeResult): TextResult {
  const files = changes.map(toRow);
  const lines = files.map(({ path, status, size }) => `${status} ${showName(path)}${size === null ? "" : ` (${size} bytes now)`}`);
  const heading =
    files.length === 0 ? "The patch changes nothing: the files are so already" : `The patch is applied; files: ${files.length}`;
  return textResult({ files, ...undoField(change) }, [heading, ...lines].join("\n") + undoText(change));
}

function toRow({ path, before, after }: PlannedChange): Row {
  const status = !after ? "deleted" : before.content ? "modified" : "added";
  return { path, status, size: after?.length ?? null };
}
