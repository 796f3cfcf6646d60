import * as z from "zod";
import type { Tool, ToolContext, TextResult } from "../../catalog/tool.ts";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { GuestFiles, Sandbox } from "../../sandbox/sandbox.ts";
import { EDIT_MAX_BYTES } from "../../text/text-limits.ts";
import type { TextDiff } from "../../text/text-diff.ts";
import type { Texts } from "../../text/texts.ts";
import { acceptPath } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { pathArgument, toAbsolute } from "../sandbox-path.ts";
import type { FileChanger } from "./file-changer.ts";
import type { FileState } from "./file-state.ts";
import { readState } from "./file-state.ts";
import { diffRequest, diffText, showDiff } from "./show-diff.ts";
import { digestOf } from "./undo-entry.ts";
import { findUndoEntry, LEVELS_MAX, removeUndoEntry } from "./undo-store.ts";

const Input = z.strictObject({
  path: pathArgument("File whose last change is taken back"),
  force: z
    .boolean()
    .optional()
    .describe("Go back although something else, as a command, changed the file since; that change is lost. Default false"),
  sandbox: sandboxArgument(DEFAULT_SANDBOX),
});

const Output = z.object({
  path: z.string(),
  existed: z.boolean().describe("False: there was no file before the change, so there is none now"),
  levels_left: z.number().int().describe("How many more changes of this file can be taken back"),
  diff: z.string().describe("Unified diff of what undoing changed"),
  truncated: z.boolean().describe("The diff is cut"),
});

type Arguments = z.output<typeof Input>;
type Found = NonNullable<Awaited<ReturnType<typeof findUndoEntry>>>;

export function createUndoEdit(changer: FileChanger, texts: Texts): Tool {
  return defineTool({
    name: "undo_edit",
    title: "Undo an edit",
    description: [
      `Takes back the last change that edit_file, write_file, apply_patch or delete_file made to a file; ${LEVELS_MAX} changes a file are kept.`,
      "They lie in the sandbox, so they are there after a restart of the server. What commands change is not kept: when one changed the",
      "file since, nothing is undone unless force is set.",
    ].join("\n"),
    toolset: "files",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    accept: acceptPath,
    input: Input,
    value: Output,
    run: (context, args) => undoEdit(context, args, { changer, texts }),
  });
}

interface Means {
  readonly changer: FileChanger;
  readonly texts: Texts;
}

async function undoEdit(context: ToolContext, args: Arguments, { changer, texts }: Means): Promise<TextResult> {
  const { signal } = context;
  const sandbox = await context.sandbox(args.sandbox);
  const path = toAbsolute(sandbox, args.path);
  return changer.alone(sandbox, signal, async () => {
    const { files } = sandbox.guest;
    const now = await readIfSmall(files, path, signal);
    const found = await findEffective(files, { path, now, signal });
    if (!args.force && digestOf(now?.content) !== found.entry.after) throw changedSince(args.path);
    const change = diffRequest(path, now?.content, found.entry.before.content);
    const diff = now && (await texts.run("diff", change, { owner: context.principal.id, signal }));
    await restore(sandbox, { path, before: found.entry.before, now }, signal);
    await removeUndoEntry(files, found.name, signal);
    return toResult(path, found, diff);
  });
}

/** Undefined: larger than anything that is kept, so certainly changed since. */
async function readIfSmall(files: GuestFiles, path: string, signal: AbortSignal): Promise<FileState | undefined> {
  try {
    return await readState(files, path, { signal, maxBytes: EDIT_MAX_BYTES });
  } catch (error) {
    if (error instanceof BelljarError && error.code === "FILE_TOO_LARGE") return undefined;
    throw error;
  }
}

/** The newest level whose change was made: a server that was killed before its write leaves one that was not. */
async function findEffective(
  files: GuestFiles,
  { path, now, signal }: { path: string; now: FileState | undefined; signal: AbortSignal },
): Promise<Found> {
  const found = await findUndoEntry(files, path, signal);
  if (!found) throw new BelljarError("UNDO_NOT_FOUND", `No change of "${path}" is kept that could be taken back`);
  const wasMade = found.entry.after === digestOf(now?.content) || !now || digestOf(now.content) !== digestOf(found.entry.before.content);
  if (wasMade) return found;
  await removeUndoEntry(files, found.name, signal);
  return findEffective(files, { path, now, signal });
}

interface Restored {
  readonly path: string;
  readonly before: FileState;
  readonly now: FileState | undefined;
}

async function restore({ guest }: Sandbox, { path, before, now }: Restored, signal: AbortSignal): Promise<void> {
  if (before.content) await guest.files.write(path, before.content, { signal, ...(before.mode !== undefined && { mode: before.mode }) });
  else if (now === undefined || now.content) await guest.files.remove(path, { signal });
}

function toResult(path: string, { entry, levels }: Found, change: TextDiff | undefined): TextResult {
  // What is there now was too large to be read.
  const diff = change ?? { diff: undefined, isWhole: true, changedBytes: entry.before.content?.length ?? 0 };
  const existed = entry.before.content !== undefined;
  const left = levels - 1;
  const done = existed ? `${path} is as it was before its last change` : `${path} is gone, as it was before its last change`;
  return textResult({ path, existed, levels_left: left, ...showDiff(diff) }, `${done}; ${left} more can be taken back${diffText(diff)}`);
}

function changedSince(path: string): BelljarError {
  return new BelljarError(
    "EDIT_CONFLICT",
    `"${path}" was changed by something else since the last edit, as by a command; undoing would lose that. Read the file, and set force to go back all the same`,
  );
}
