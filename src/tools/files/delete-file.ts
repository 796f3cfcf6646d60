import * as z from "zod";
import type { Tool, ToolContext, TextResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import { INSIDE } from "../../sandbox/sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { acceptPath } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import type { ChangeResult, FileChanger } from "./file-changer.ts";
import { changeFile, readForUndo, UNDO_PROBLEM, undoField, undoText } from "./file-changer.ts";

const Input = z.strictObject({
  path: pathArgument("File, link or folder to delete"),
  recursive: z.boolean().optional().describe("Delete a folder with all that it holds; default false, so that only an empty one goes"),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const TYPES = ["file", "directory", "link", "other"] as const;
const Output = z.object({ path: z.string(), type: z.enum(TYPES).describe("What was deleted"), undo_problem: UNDO_PROBLEM });

type Arguments = z.output<typeof Input>;

export function createDeleteFile(changer: FileChanger): Tool {
  return defineTool({
    name: "delete_file",
    title: "Delete a file",
    description: [
      "Deletes a file, a link (not what it leads to) or an empty folder in your sandbox; with recursive a folder and all that it holds.",
      "undo_edit brings back a deleted file, but no folder and no link.",
    ].join("\n"),
    toolset: "files",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    accept: acceptPath,
    input: Input,
    value: Output,
    run: (context, args) => deleteFile(context, args, changer),
  });
}

async function deleteFile(context: ToolContext, args: Arguments, changer: FileChanger): Promise<TextResult> {
  const { signal } = context;
  const sandbox = await context.sandbox(args.sandbox);
  const path = toAbsolute(sandbox, args.path);
  assertNotAll(sandbox, path, args.path);
  return changer.alone(sandbox, signal, async () => {
    const { type } = await sandbox.guest.files.stat(path, { signal });
    const change = type === "file" ? await deleteKept(sandbox, path, signal) : await deleteOther(sandbox, { path, type, args, signal });
    const text = `Deleted the ${type === "directory" ? "folder" : type} ${path}${type === "file" ? undoText(change) : ""}`;
    return textResult({ path, type, ...undoField(change) }, text);
  });
}

async function deleteKept(sandbox: Sandbox, path: string, signal: AbortSignal): Promise<ChangeResult> {
  return changeFile(sandbox, { path, before: await readForUndo(sandbox.guest.files, path, signal), after: undefined }, signal);
}

async function deleteOther(
  { guest }: Sandbox,
  { path, type, args, signal }: { path: string; type: (typeof TYPES)[number]; args: Arguments; signal: AbortSignal },
): Promise<ChangeResult> {
  try {
    await guest.files.remove(path, { signal, recursive: type === "directory" && args.recursive === true });
  } catch (error) {
    if (!(error instanceof BelljarError) || error.code !== "DIRECTORY_NOT_EMPTY") throw error;
    throw new BelljarError("DIRECTORY_NOT_EMPTY", `The folder "${args.path}" is not empty; set recursive to delete all that it holds`, {
      cause: error,
    });
  }
  return { notKept: "only files are kept" };
}

/** The two slips that cost everything. */
function assertNotAll({ inside }: Sandbox, path: string, given: string): void {
  if (path !== "/" && ![inside.home, inside.workspace, inside.cwd, INSIDE.workspace].includes(path)) return;
  throw new BelljarError(
    "PATH_INVALID",
    `"${given}" is ${path === "/" ? "the root" : "the workspace or the home itself"}; name what to delete in it`,
  );
}
