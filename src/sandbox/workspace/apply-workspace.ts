import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../sandbox.ts";
import type { AppliedEntry } from "./apply/applied-entries.ts";
import type { AppliedFolder } from "./apply/applied-folder.ts";
import { openAppliedFolder } from "./apply/applied-folder.ts";
import type { ApplyJournal, Outcome } from "./apply/apply-journal.ts";
import { openOldFiles } from "./apply/old-files.ts";
import type { Staged } from "./apply/plan-steps.ts";
import { planSteps } from "./apply/plan-steps.ts";
import { markProcess } from "./apply/process-mark.ts";
import { stageChanges } from "./apply/stage-changes.ts";
import type { StagedFile } from "./apply/stage-changes.ts";
import { takeSteps } from "./apply/take-steps.ts";
import { recoverApply, undoOwn } from "./apply/undo-apply.ts";
import type { Entry, HostEntry } from "./entry.ts";
import { fromKey, showPath } from "./entry.ts";
import { HostFolder } from "./host-folder.ts";
import { leadsOutside } from "./link-target.ts";
import { createSandboxId } from "../sandbox-id.ts";
import { openStaging } from "./staging.ts";
import { isUntouched } from "./stamp.ts";
import type { ChosenPart, WorkspaceChange, WorkspaceDiff } from "./workspace-change.ts";

const MAX_NAMED = 20;

export interface ApplyOptions {
  /** The home of Belljar of whoever applies: it keeps the old files for `undoApply`. */
  readonly home: string;
  readonly signal: AbortSignal;
}

export interface ApplyResult {
  readonly written: number;
  readonly removed: number;
  /** Links that were made and lead out of the workspace, with their text. */
  readonly outsideLinks: readonly { readonly path: string; readonly target: string }[];
}

/**
 * Writes a diff's changes to the host's folder, all of them or none. First all content is taken out and held against the diff, then the host's
 * side: when either has changed since, it is `WORKSPACE_CONFLICT` and nothing was written. Nothing of the host's is overwritten or deleted: the
 * old files go to the home, until the next apply to this folder. An apply that was cut off is undone first.
 */
export async function applyWorkspace(sandbox: Sandbox, diff: WorkspaceDiff, { home, signal }: ApplyOptions): Promise<ApplyResult> {
  if (diff.sandboxId !== sandbox.id)
    throw new BelljarError("WORKSPACE_INVALID", `This diff is of sandbox ${diff.sandboxId}, not of ${sandbox.id}`);
  const folder = new HostFolder(diff.hostPath);
  const applied = openAppliedFolder(home, diff.hostPath);
  await recoverApply(applied, folder);
  await assertUnchanged(folder, diff.changes);
  const owner = await ownerFor(folder);
  const apply = { sandbox, diff, folder, applied, signal, ...owner };
  const noted = diff.changes.length > 0 ? await writeAll(apply) : [];
  await applied.note(sandbox.id, [...noted, ...diff.settled.map((change) => noteSettled(change))]);
  return summarise(diff.changes);
}

interface Apply {
  readonly sandbox: Sandbox;
  readonly diff: WorkspaceDiff;
  readonly folder: HostFolder;
  readonly applied: AppliedFolder;
  readonly owner?: Pick<HostEntry, "uid" | "gid">;
  readonly signal: AbortSignal;
}

async function writeAll(apply: Apply): Promise<readonly AppliedEntry[]> {
  const { folder, diff } = apply;
  await using staging = await openStaging(folder);
  const files = await stageChanges({ ...apply, staging }, diff.changes);
  await assertUnchanged(folder, diff.changes);
  const journal = await plan(apply, { files, nextOld: () => staging.nextOld() }, staging.root);
  const outcomes = await write(apply, journal);
  return outcomes.flatMap((outcome, index) => noteOutcome(outcome, diff.changes[index], files.get(outcome.key)));
}

async function plan({ diff }: Apply, staged: Staged, staging: string): Promise<ApplyJournal> {
  return {
    version: 1,
    id: createSandboxId(),
    sandboxId: diff.sandboxId,
    hostPath: diff.hostPath,
    staging,
    writer: (await markProcess()) ?? "",
    steps: planSteps(diff.changes, staged),
    outcomes: diff.changes.map(({ key, host, merged, isForced, part }) => ({
      key,
      ...(host && { before: host }),
      isPlain: !isForced && (part ? !part.isMerged : !merged),
    })),
    isComplete: false,
  };
}

/** Once the journal is there, whoever comes after a crash undoes the steps that were taken. */
async function write(apply: Apply, journal: ApplyJournal): Promise<readonly Outcome[]> {
  const { diff, folder, applied } = apply;
  const old = openOldFiles(applied.old, folder);
  await applied.begin(journal);
  try {
    await takeSteps(apply, journal.steps);
    const outcomes = await Promise.all(journal.outcomes.map((outcome) => withAfter(folder, outcome)));
    for (const step of journal.steps) if (step.kind === "take") await old.keep(step.old, step.before);
    await applied.finish({ ...journal, outcomes, isComplete: true });
    return outcomes;
  } catch (cause) {
    await undoOwn(applied, folder, journal).catch((problem: unknown) => {
      throw notUndone(diff, problem);
    });
    throw cause;
  }
}

/** An undo that says `WORKSPACE_CONFLICT` went to its end. What one that failed did not give back lies in the staging folder, or in the home. */
function notUndone({ hostPath }: WorkspaceDiff, problem: unknown): unknown {
  if (problem instanceof BelljarError && problem.code === "WORKSPACE_CONFLICT") return problem;
  const message = problem instanceof Error ? problem.message : String(problem);
  return new BelljarError(
    "FILE_IO",
    `Writing to ${hostPath} failed, and so did undoing it: ${message}. The old files are kept: mend that, and the next apply undoes the rest first`,
    { cause: problem },
  );
}

async function withAfter(folder: HostFolder, outcome: Outcome): Promise<Outcome> {
  const after = await folder.stat(fromKey(outcome.key));
  return { ...outcome, ...(after && { after }) };
}

/** From here on each side's changes count from what it has now. */
function noteOutcome({ key, after }: Outcome, change: WorkspaceChange | undefined, file: StagedFile | undefined): readonly AppliedEntry[] {
  if (!change) return [];
  const guest = change.unmerged ?? change.guest;
  if (change.part && guest) return [notePart(key, change.part, { guest, after })];
  return [
    {
      key,
      ...(guest && { guest }),
      ...(after && { host: after }),
      ...(file?.text && { text: file.text }),
      isDiverged: change.merged !== undefined,
    },
  ];
}

/** The sandbox's own file is another one than its base, which lies nowhere: so it has no time. */
function notePart(
  key: string,
  { base, isMerged }: ChosenPart,
  { guest, after }: { readonly guest: Entry; readonly after: HostEntry | undefined },
): AppliedEntry {
  return {
    key,
    guest: { ...guest, mode: after?.mode ?? guest.mode, size: base?.length ?? guest.size, mtimeNs: 0n },
    ...(after && { host: after }),
    ...(base && { text: base }),
    isDiverged: isMerged || !base,
  };
}

function noteSettled({ key, guest }: WorkspaceChange): AppliedEntry {
  return { key, ...(guest && { guest }), isDiverged: true };
}

async function assertUnchanged(folder: HostFolder, changes: readonly WorkspaceChange[]): Promise<void> {
  const conflicts: string[] = [];
  for (const { key, path, host } of changes) {
    const now = await folder.stat(fromKey(key));
    if (!(host && now ? isUntouched(host, now) : host === now)) conflicts.push(path);
  }
  if (conflicts.length === 0) return;
  const named = conflicts.slice(0, MAX_NAMED).join(", ");
  const more = conflicts.length > MAX_NAMED ? ` and ${conflicts.length - MAX_NAMED} more` : "";
  throw new BelljarError(
    "WORKSPACE_CONFLICT",
    `Changed on the host since the diff: ${named}${more}. Nothing was written: look at a new diff first`,
  );
}

async function ownerFor(folder: HostFolder): Promise<{ readonly owner?: Pick<HostEntry, "uid" | "gid"> }> {
  const root = process.getuid?.() === 0 ? await folder.stat(Buffer.alloc(0)) : undefined;
  return root ? { owner: root } : {};
}

function summarise(changes: readonly WorkspaceChange[]): ApplyResult {
  const outside = changes.filter(({ key, guest }) => guest?.type === "link" && guest.target && leadsOutside(key, guest.target));
  const removed = changes.filter(({ kind }) => kind === "removed").length;
  return {
    written: changes.length - removed,
    removed,
    outsideLinks: outside.map(({ path, guest }) => ({ path, target: showPath(guest?.target ?? Buffer.alloc(0)) })),
  };
}
