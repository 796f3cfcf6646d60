import * as z from "zod";
import { TurnsByKey } from "../../async/turns-by-key.ts";
import { BelljarError } from "../../errors.ts";
import type { GuestFiles, Sandbox } from "../../sandbox/sandbox.ts";
import { EDIT_MAX_BYTES } from "../../text/text-limits.ts";
import type { FileState } from "./file-state.ts";
import { readState } from "./file-state.ts";
import { digestOf } from "./undo-entry.ts";
import { removeUndoEntry, saveUndoEntry } from "./undo-store.ts";

/** One file's change. The paths are absolute. */
export interface FileChange {
  readonly path: string;
  /** A problem instead: the old content is not kept, and why. */
  readonly before: FileState | { readonly notKept: string };
  /** Undefined: the file goes. */
  readonly after: Buffer | undefined;
  readonly mode?: number;
}

/** What was done; `notKept` says why `undo_edit` cannot take it back. */
export interface ChangeResult {
  readonly notKept?: string;
}

/** The one way in which tools change files: each change is kept for `undo_edit`. */
export interface FileChanger {
  /** Runs `work` while no other call through this server changes files of the sandbox, so that no edit is lost between read and write. */
  alone<T>(sandbox: Sandbox, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export function createFileChanger(): FileChanger {
  const turns = new TurnsByKey();
  return { alone: ({ id }, signal, work) => turns.run(id, work, signal) };
}

/** What a change is kept with; what cannot be read or is too large is not kept, and the change itself says whether it may be made. */
export async function readForUndo(files: GuestFiles, path: string, signal: AbortSignal): Promise<FileChange["before"]> {
  try {
    return await readState(files, path, { signal, maxBytes: EDIT_MAX_BYTES });
  } catch (error) {
    if (!(error instanceof BelljarError) || signal.aborted) throw error;
    return { notKept: error.code === "FILE_TOO_LARGE" ? `the old file is larger than ${EDIT_MAX_BYTES} bytes` : error.message };
  }
}

/**
 * Keeps the old file as an undo level, and then makes the change. When the change fails the level is dropped again; a server that is
 * killed between the two leaves a level that is passed over.
 */
export async function changeFile(sandbox: Sandbox, change: FileChange, signal: AbortSignal): Promise<ChangeResult> {
  const { files } = sandbox.guest;
  const { name, ...kept } = await keepForUndo(sandbox, change, signal);
  try {
    await makeChange(files, change, signal);
  } catch (error) {
    if (name !== undefined && !signal.aborted) await removeUndoEntry(files, name, signal);
    throw error;
  }
  return kept;
}

async function makeChange(files: GuestFiles, { path, after, mode }: FileChange, signal: AbortSignal): Promise<void> {
  if (after) await files.write(path, after, { signal, ...(mode !== undefined && { mode }) });
  else await files.remove(path, { signal });
}

/** A full disk or a template without root is no reason to refuse an edit: it is made, and the result says that it cannot be undone. */
async function keepForUndo(
  { guest }: Sandbox,
  { path, before, after }: FileChange,
  signal: AbortSignal,
): Promise<ChangeResult & { readonly name?: string }> {
  if ("notKept" in before) return before;
  if (after && before.content?.equals(after)) return {};
  try {
    return { name: await saveUndoEntry(guest.files, { path, before, after: digestOf(after) }, signal) };
  } catch (error) {
    if (error instanceof BelljarError && !signal.aborted) return { notKept: `${error.code}: ${error.message}` };
    throw error;
  }
}

/** For a tool's output schema, and its field in the result. */
export const UNDO_PROBLEM = z.string().optional().describe("Why undo_edit cannot take this back; absent when it can");

export function undoField({ notKept }: ChangeResult): { readonly undo_problem?: string } {
  return notKept === undefined ? {} : { undo_problem: notKept };
}

/** The line about undoing that ends the text of every change. */
export function undoText({ notKept }: ChangeResult): string {
  return notKept === undefined ? "" : `\n[undo_edit cannot take this back: ${notKept}]`;
}
