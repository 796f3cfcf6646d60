import { dirname } from "node:path";
import { BelljarError } from "../../../errors.ts";
import { fromKey, showPath } from "../entry.ts";
import { HostFolder } from "../host-folder.ts";
import { isUntouched } from "../stamp.ts";
import type { AppliedEntry } from "./applied-entries.ts";
import type { AppliedFolder } from "./applied-folder.ts";
import { openAppliedFolder } from "./applied-folder.ts";
import type { ApplyJournal, Outcome } from "./apply-journal.ts";
import { openOldFiles } from "./old-files.ts";
import { markProcess } from "./process-mark.ts";
import { undoSteps } from "./undo-steps.ts";

const MAX_NAMED = 20;

export interface UndoResult {
  readonly hostPath: string;
  readonly sandboxId: string;
  /** How many paths are as they were. */
  readonly undone: number;
}

/**
 * Undoes the last apply to a folder, all of it or nothing. `WORKSPACE_CONFLICT` when somebody changed since what it wrote, when nothing was
 * applied, and when it was not the named sandbox's.
 */
export async function undoApply(hostPath: string, home: string, sandboxId?: string): Promise<UndoResult> {
  const folder = new HostFolder(hostPath);
  const applied = openAppliedFolder(home, hostPath);
  const recovered = await recoverApply(applied, folder);
  if (recovered?.isComplete && [undefined, recovered.sandboxId].includes(sandboxId)) return resultOf(recovered);
  const journal = await applied.last();
  if (!journal) throw nothingToUndo(hostPath);
  if (sandboxId !== undefined && journal.sandboxId !== sandboxId) throw another(journal);
  await assertAsWritten(folder, journal.outcomes);
  const again = { ...journal, writer: (await markProcess()) ?? "" };
  await applied.reopen(again);
  await undoOwn(applied, folder, again);
  return resultOf(journal);
}

/** The folder to which something was applied: this one, or the next above. Rejects with `WORKSPACE_CONFLICT` if there is none. */
export async function findAppliedFolder(folder: string, home: string): Promise<string> {
  for (let path = folder; ; path = dirname(path)) {
    if (await openAppliedFolder(home, path).hasApply()) return path;
    if (path === dirname(path)) throw nothingToUndo(folder);
  }
}

function nothingToUndo(folder: string): BelljarError {
  return new BelljarError("WORKSPACE_CONFLICT", `Nothing is to be undone in ${folder}: no apply, or it is undone already`);
}

function resultOf({ hostPath, sandboxId, outcomes }: ApplyJournal): UndoResult {
  return { hostPath, sandboxId, undone: outcomes.length };
}

function another({ hostPath, sandboxId }: ApplyJournal): BelljarError {
  return new BelljarError(
    "WORKSPACE_CONFLICT",
    `The last apply to ${hostPath} was of sandbox ${sandboxId}, and only the last one can be undone: belljar sandbox apply --undo ${sandboxId}`,
  );
}

/**
 * Undoes an apply that was cut off, or an undo that was (its journal is complete), and resolves with its journal. Rejects with
 * `WORKSPACE_CONFLICT` while one writes.
 */
export async function recoverApply(applied: AppliedFolder, folder: HostFolder): Promise<ApplyJournal | undefined> {
  const journal = await applied.cutOff();
  if (journal) await undo(applied, folder, journal);
  return journal;
}

/** Undoes what this process wrote, as `undo`. If that fails, the journal is nobody's: whoever comes next undoes the rest first. */
export async function undoOwn(applied: AppliedFolder, folder: HostFolder, journal: ApplyJournal): Promise<void> {
  try {
    await undo(applied, folder, journal);
  } catch (cause) {
    // The first failure counts. A journal that cannot be written is let go by the end of this process.
    await applied.letGo(journal).catch(() => undefined);
    throw cause;
  }
}

/** Undoes what was written of an apply. Rejects with `WORKSPACE_CONFLICT` when somebody changed some of it meanwhile: that stays. */
async function undo(applied: AppliedFolder, folder: HostFolder, journal: ApplyJournal): Promise<void> {
  if (!(await folder.stat(fromKey(journal.staging)))) await folder.makeDirectory(fromKey(journal.staging));
  const { undone, left } = await undoSteps(folder, journal, openOldFiles(applied.old, folder));
  await noteUndone({ applied, folder, undone }, journal);
  await applied.forget(journal);
  if (left.size === 0) return;
  const named = [...left].map((key) => showPath(fromKey(key))).join(", ");
  throw new BelljarError(
    "WORKSPACE_CONFLICT",
    `Undone, but for ${named}, which somebody changed meanwhile. What was there before the apply lies in ${applied.old}`,
  );
}

async function assertAsWritten(folder: HostFolder, outcomes: readonly Outcome[]): Promise<void> {
  const changed: string[] = [];
  for (const { key, after } of outcomes) {
    const now = await folder.stat(fromKey(key));
    if (!(after && now ? isUntouched(after, now) : after === now)) changed.push(showPath(fromKey(key)));
  }
  if (changed.length === 0) return;
  const named = changed.slice(0, MAX_NAMED).join(", ");
  const more = changed.length > MAX_NAMED ? ` and ${changed.length - MAX_NAMED} more` : "";
  throw new BelljarError("WORKSPACE_CONFLICT", `Nothing was undone, for this was changed since the apply: ${named}${more}`);
}

/** What the sandbox had changed is its change again. */
async function noteUndone(
  { applied, folder, undone }: { readonly applied: AppliedFolder; readonly folder: HostFolder; readonly undone: ReadonlySet<string> },
  { sandboxId, outcomes, isComplete }: ApplyJournal,
): Promise<void> {
  const entries: AppliedEntry[] = [];
  for (const { key, before, isPlain } of outcomes) {
    if (!isPlain || !undone.has(key)) continue;
    const now = await folder.stat(fromKey(key));
    entries.push({ key, ...(before && { guest: before }), ...(now && { host: now }) });
  }
  const forgotten = isComplete ? outcomes.map(({ key }) => key) : [];
  if (entries.length + forgotten.length > 0) await applied.note(sandboxId, entries, forgotten);
}
