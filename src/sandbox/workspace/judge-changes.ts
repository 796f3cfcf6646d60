import type { BaseState } from "./base/base-states.ts";
import { findBases } from "./base/base-states.ts";
import type { BaseSources } from "./base/base-states.ts";
import type { Entry } from "./entry.ts";
import { foldersAbove, fromAbove } from "./folders-above.ts";
import { mergeChange } from "./merge-change.ts";
import type { MergeSources } from "./merge-change.ts";
import { isSameEntry } from "./stamp.ts";
import type { WorkspaceChange, WorkspaceConflict } from "./workspace-change.ts";

export interface JudgeSources extends BaseSources, MergeSources {
  /** Whose side conflicts are decided for. Absent: they are left alone. */
  readonly prefer?: "theirs" | "ours" | undefined;
}

export interface Judged {
  readonly changes: readonly WorkspaceChange[];
  readonly conflicts: readonly WorkspaceConflict[];
  readonly settled: readonly WorkspaceChange[];
}

type Verdict =
  | { readonly kind: "none" }
  | { readonly kind: "write"; readonly change: WorkspaceChange }
  | { readonly kind: "conflict"; readonly reason: string };

const NONE: Verdict = { kind: "none" };
const UNPROVEN = "nothing proves that it is unchanged outside since the sandbox was made";
const FOLDER_CHANGED = "what lies in it, or above it, was changed outside too";

/**
 * Decides what becomes of each difference between a sandbox and the host's folder: what the sandbox alone changed is written, what only the
 * host changed is no change of the sandbox's, and what both changed is merged or a conflict.
 */
export async function judgeChanges(sources: JudgeSources, changes: readonly WorkspaceChange[]): Promise<Judged> {
  const baseOf = await findBases(
    sources,
    changes.map(({ key }) => key),
  );
  const verdicts = new Map<string, Verdict>();
  for (const change of changes) verdicts.set(change.key, await judge(sources, change, baseOf(change.key)));
  const judging = { host: sources.host, changes: new Map(changes.map((change) => [change.key, change])), verdicts };
  spreadConflicts(judging);
  if (sources.prefer === "theirs") decideForSandbox(judging);
  addFoldersAbove(judging);
  const conflicts = changes.flatMap((change) => {
    const verdict = verdicts.get(change.key);
    return verdict?.kind === "conflict" ? [{ change, reason: verdict.reason }] : [];
  });
  const written = changes.flatMap(({ key }) => {
    const verdict = verdicts.get(key);
    return verdict?.kind === "write" ? [verdict.change] : [];
  });
  const isSettled = sources.prefer === "ours";
  return {
    changes: withoutFullFolders(sources.host, written),
    conflicts: isSettled ? [] : conflicts,
    settled: isSettled ? conflicts.map(({ change }) => change) : [],
  };
}

async function judge(sources: JudgeSources, change: WorkspaceChange, base: BaseState | undefined): Promise<Verdict> {
  if (!base) return { kind: "conflict", reason: UNPROVEN };
  const { guest, host } = change;
  if (isSameEntry(base.began, guest)) return NONE;
  if (base.isUnchangedOutside) return { kind: "write", change };
  if (change.kind === "mode_changed") return judgeMode(change, base, change);
  if (!guest) return { kind: "conflict", reason: "deleted inside, changed outside" };
  if (!base.began) return { kind: "conflict", reason: "added inside and outside" };
  if (!host) return { kind: "conflict", reason: "changed inside, deleted outside" };
  if (guest.type !== "file" || host.type !== "file" || base.began.type !== "file")
    return { kind: "conflict", reason: "changed inside and outside" };
  const merged = await mergeChange(sources, { ...change, guest, host, kind: "modified" }, { ...base, began: base.began });
  if (!merged) return NONE;
  return "reason" in merged ? { kind: "conflict", reason: merged.reason } : { kind: "write", change: merged };
}

/** The content is the same on both sides. */
function judgeMode(
  change: WorkspaceChange,
  { began }: BaseState,
  { guest, host }: { readonly guest: Entry; readonly host: Entry },
): Verdict {
  if (began?.mode === guest.mode) return NONE;
  if (began?.mode === host.mode) return { kind: "write", change };
  return { kind: "conflict", reason: "its mode was changed inside and outside" };
}

interface Judging {
  readonly host: BaseSources["host"];
  readonly changes: ReadonlyMap<string, WorkspaceChange>;
  readonly verdicts: Map<string, Verdict>;
}

/**
 * A folder of the host makes room for something else only if all that lies in it goes. What cannot be put where it belongs, because
 * something else lies above it, is a conflict too.
 */
function spreadConflicts({ host, changes, verdicts }: Judging): void {
  const isGoing = (key: string): boolean => verdicts.get(key)?.kind === "write" && changes.get(key)?.guest === undefined;
  const isReplaced = (folder: string): boolean => changes.get(folder)?.kind === "type_changed" && host.get(folder)?.type === "directory";
  const findReplaced = fromAbove((folder) => (isReplaced(folder) ? folder : undefined));
  for (const key of host.keys()) {
    const replaced = findReplaced(key);
    if (replaced !== undefined && !isGoing(key)) mark(verdicts, replaced);
  }
  const stays = (folder: string): boolean => verdicts.get(folder)?.kind === "conflict" && changes.get(folder)?.kind === "type_changed";
  const isInTheWay = (folder: string): boolean =>
    !["conflict", "write"].includes(verdicts.get(folder)?.kind ?? "") && (host.get(folder)?.type ?? "directory") !== "directory";
  // What is marked here matters to what lies below, which comes later.
  const staysAbove = fromAbove((folder) => stays(folder) || undefined);
  const isInTheWayAbove = fromAbove((folder) => isInTheWay(folder) || undefined);
  for (const [key, { guest }] of changes) {
    const blocked = staysAbove(key) || (guest !== undefined && isInTheWayAbove(key));
    if (blocked && verdicts.get(key)?.kind === "write") mark(verdicts, key);
  }
}

function mark(verdicts: Map<string, Verdict>, key: string): void {
  verdicts.set(key, { kind: "conflict", reason: FOLDER_CHANGED });
}

function decideForSandbox({ changes, verdicts }: Judging): void {
  for (const [key, change] of changes)
    if (verdicts.get(key)?.kind === "conflict") verdicts.set(key, { kind: "write", change: { ...change, isForced: true } });
}

/** A folder that was deleted outside comes back for what the sandbox put into it. */
function addFoldersAbove({ host, changes, verdicts }: Judging): void {
  const written = [...changes].flatMap(([key, { guest }]) => (guest && verdicts.get(key)?.kind === "write" ? [key] : []));
  for (const folder of foldersAbove(written)) {
    const change = changes.get(folder);
    if (!host.has(folder) && change?.guest?.type === "directory") verdicts.set(folder, { kind: "write", change });
  }
}

/** A folder in which something stays is not removed. */
function withoutFullFolders(host: BaseSources["host"], changes: readonly WorkspaceChange[]): readonly WorkspaceChange[] {
  const going = new Set(changes.flatMap(({ key, kind }) => (kind === "removed" ? [key] : [])));
  const staying = foldersAbove([...host.keys()].filter((key) => !going.has(key)));
  return changes.filter(({ key, kind, host: entry }) => kind !== "removed" || entry.type !== "directory" || !staying.has(key));
}
