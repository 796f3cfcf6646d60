import { BelljarError } from "../../errors.ts";
import type { FileInfo } from "../../runtime/guest/guest.ts";
import type { Texts } from "../../text/texts.ts";
import { mapLimit } from "../../async/map-limit.ts";
import type { Sandbox } from "../sandbox.ts";
import { openAppliedFolder } from "./apply/applied-folder.ts";
import { hashGuestFile, hashHostFile, insidePath } from "./compare-content.ts";
import type { Entry, HostEntry } from "./entry.ts";
import { fromKey, parentKey, showPath } from "./entry.ts";
import { countCommits } from "./git-commits.ts";
import { isGitStore, isInGit, isObeyedByGit } from "./git-name.ts";
import { holdBack } from "./hold-back.ts";
import { HostFolder } from "./host-folder.ts";
import { findIgnored } from "./ignored.ts";
import { judgeChanges } from "./judge-changes.ts";
import { pairSides } from "./pair-sides.ts";
import type { Pair } from "./pair-sides.ts";
import { selectPaths } from "./select-paths.ts";
import type { Selection } from "./select-paths.ts";
import { walkSides } from "./walk-sides.ts";
import type { WalkedSides } from "./walk-sides.ts";
import type { SkippedEntry, WorkspaceChange, WorkspaceConflict, WorkspaceDiff } from "./workspace-change.ts";
import { orUnreadable } from "./workspace-change.ts";
import { addPatches } from "./workspace-patches.ts";

const PARALLEL = 4;

export interface DiffOptions {
  /** The home of Belljar of whoever compares: it knows what was applied before. */
  readonly home: string;
  readonly texts: Texts;
  readonly signal: AbortSignal;
  /** Only these, as `selectPaths` reads them. */
  readonly paths?: readonly string[];
  /** Also what git of the host ignores. */
  readonly ignored?: boolean;
  /** Without the texts of what changed, for who shows paths alone. What is applied then was not seen. */
  readonly isPathsOnly?: boolean;
  /** Decides all conflicts: for the sandbox's side or for the host's. */
  readonly prefer?: "theirs" | "ours" | undefined;
}

/**
 * Compares a sandbox's workspace, as its user sees it, with the folder on the host and with how that was when the sandbox was made. Links are
 * compared, never followed. Nothing for mode `ro`; `WORKSPACE_INVALID` for `rw`, whose changes are on the host already, and without a workspace.
 */
export async function diffWorkspace(sandbox: Sandbox, options: DiffOptions): Promise<WorkspaceDiff> {
  const { workspace } = await sandbox.info();
  if (!workspace)
    throw new BelljarError(
      "WORKSPACE_INVALID",
      `Sandbox ${sandbox.id} has no workspace to compare with: take files out with \`belljar cp\``,
    );
  if (workspace.mode === "rw")
    throw new BelljarError("WORKSPACE_INVALID", `Sandbox ${sandbox.id} writes to ${workspace.path} itself: its changes are there already`);
  const empty = {
    sandboxId: sandbox.id,
    hostPath: workspace.path,
    changes: [],
    conflicts: [],
    held: [],
    settled: [],
    ignored: 0,
    commits: 0,
    skipped: [],
  };
  const selection = selectPaths(options.paths ?? []);
  if (workspace.mode === "ro") return empty;
  const { startedNs = 0n } = await sandbox.workspaceBase([]);
  return compare({ ...options, sandbox, folder: new HostFolder(workspace.path), selection, startedNs });
}

interface Comparison extends DiffOptions {
  readonly sandbox: Sandbox;
  readonly folder: HostFolder;
  readonly selection: Selection;
  /** When the sandbox was made, by the clock of the host's files. */
  readonly startedNs: bigint;
}

type Compared = Omit<WorkspaceDiff, "sandboxId" | "hostPath" | "commits">;

async function compare(comparison: Comparison): Promise<WorkspaceDiff> {
  const { sandbox, folder } = comparison;
  const sides = await walkSides(comparison);
  const repositories = [sides.host.get(".git"), sides.guest.get(".git")];
  const [judged, commits] = await Promise.all([compareSides(comparison, sides), countMade(comparison, repositories)]);
  return { sandboxId: sandbox.id, hostPath: folder.root, ...judged, commits };
}

async function compareSides(comparison: Comparison, { host, guest, closed }: WalkedSides): Promise<Compared> {
  const { sandbox, folder, home, signal } = comparison;
  const { pairs, unusable } = pairSides(host, guest);
  const asked = pairs.filter((pair) => isCompared(comparison, pair));
  const compared = await mapLimit(asked, PARALLEL, (pair) => orUnreadable(pair.key, () => comparePair(comparison, pair)));
  const changes = compared.flatMap((change) => (change && "kind" in change ? [change] : []));
  const { removed, unreadable } = await confirmRemoved(comparison, changes);
  const real = changes.filter((change) => change.kind !== "removed" || removed.has(change.key));
  const ignored = comparison.ignored ? new Set<string>() : await findIgnored(folder.root, real, signal);
  const wanted = real.filter(({ key }) => (!ignored.has(key) && !closed.ignored.has(key)) || comparison.selection.isNamed(key));
  const applied = await openAppliedFolder(home, folder.root).applied(sandbox.id);
  const { settled, ...judged } = await judgeChanges({ ...comparison, base: sandbox, applied, host }, wanted);
  const { free, held: unasked } = await holdBack(comparison, judged.changes);
  // What nobody asked for is no conflict: it is left out either way.
  const isUnasked = ({ change: { key } }: WorkspaceConflict): boolean => isInGit(key) && !comparison.selection.isNamed(key);
  const held = [...unasked, ...judged.conflicts.filter(isUnasked)];
  const conflicts = judged.conflicts.filter((conflict) => !isUnasked(conflict));
  const named = [...held, ...conflicts];
  const found = [...free, ...named.map(({ change }) => change)];
  const shown = comparison.isPathsOnly ? found : await addPatches(comparison, found);
  const patched = new Map(shown.flatMap((change) => ("kind" in change ? [[change.key, change] as const] : [])));
  const withPatch = <Named extends { readonly change: WorkspaceChange }>(one: Named): Named => ({
    ...one,
    change: patched.get(one.change.key) ?? one.change,
  });
  return {
    changes: free.flatMap(({ key }) => patched.get(key) ?? []),
    conflicts: conflicts.map(withPatch),
    held: held.map(withPatch),
    settled,
    ignored: real.length - wanted.length + countTouched({ host, guest, closed }),
    skipped: [...unusable, ...[...compared, ...shown].filter(isSkipped), ...unreadable],
  };
}

/** Ignored folders of both sides in which something came or went at the top. What lies deeper nobody looks at. */
function countTouched({ host, guest, closed }: WalkedSides): number {
  const isTouched = (one: HostEntry | undefined, other: FileInfo | undefined): boolean =>
    one?.type === "directory" && other?.type === "directory" && one.mtimeNs !== other.mtimeNs && one.mode === (other.mode & 0o777);
  return [...closed.ignored].filter((key) => isTouched(host.get(key), guest.get(key))).length;
}

/** Nobody who names paths asks for commits. */
function countMade(
  { sandbox, folder, paths = [], signal }: Comparison,
  repositories: readonly (Pick<Entry, "type"> | undefined)[],
): Promise<number> {
  if (paths.length > 0 || repositories.some((entry) => entry?.type !== "directory")) return Promise.resolve(0);
  return countCommits({ sandbox, hostPath: folder.root, signal });
}

/**
 * A repository's own files make sense together alone: of them only what is named is looked at, and what git of the host would obey by itself
 * and the sandbox has. Never what it stores.
 */
function isCompared({ selection }: Comparison, { key, guest }: Pair): boolean {
  if (!isInGit(key)) return selection.isAsked(key);
  return !isGitStore(key) && (selection.isNamed(key) || (guest !== undefined && isObeyedByGit(key) && selection.isAsked(key)));
}

function isSkipped(result: WorkspaceChange | SkippedEntry | undefined): result is SkippedEntry {
  return result !== undefined && "reason" in result;
}

async function comparePair(comparison: Comparison, { key, guest, host }: Pair): Promise<WorkspaceChange | undefined> {
  const path = showPath(fromKey(key));
  if (!guest) return host && { kind: "removed", path, key, host };
  if (!host) return { kind: "added", path, key, guest };
  if (guest.type !== host.type) return { kind: "type_changed", path, key, guest, host };
  if (!(await isSameContent(comparison, key, { guest, host }))) return { kind: "modified", path, key, guest, host };
  return guest.mode === host.mode || guest.type === "link" ? undefined : { kind: "mode_changed", path, key, guest, host };
}

async function isSameContent(
  comparison: Comparison,
  key: string,
  { guest, host }: { readonly guest: Entry; readonly host: HostEntry },
): Promise<boolean> {
  if (guest.type === "link") return guest.target?.equals(host.target ?? Buffer.alloc(0)) ?? false;
  if (guest.type !== "file") return true;
  if (guest.size !== host.size) return false;
  // Both sides may have written within one tick of the clock.
  const isOld = host.ctimeNs <= comparison.startedNs;
  return (isOld && guest.mtimeNs === host.mtimeNs) || isSameBytes(comparison, key, host.size);
}

async function isSameBytes({ sandbox, folder, signal }: Comparison, key: string, size: number): Promise<boolean> {
  const [inside, outside] = await Promise.all([
    hashGuestFile(sandbox, key, { limit: size, signal }),
    hashHostFile(folder, key, { limit: size, signal }),
  ]);
  return inside === outside;
}

/**
 * A folder that the sandbox's user may not read lists nothing, and that must not look like removal: what is missing
 * from the list is asked for by name, the topmost entry of each missing tree once.
 */
async function confirmRemoved(
  comparison: Comparison,
  changes: readonly WorkspaceChange[],
): Promise<{ readonly removed: ReadonlySet<string>; readonly unreadable: readonly SkippedEntry[] }> {
  const removed = new Set<string>();
  const unreadable: SkippedEntry[] = [];
  const gone = changes.filter((change) => change.kind === "removed");
  const missing = new Set(gone.map(({ key }) => key));
  const replaced = new Set(changes.flatMap(({ key, kind }) => (kind === "type_changed" ? [key] : [])));
  for (const { key, path } of gone) {
    const parent = parentKey(key);
    const isGone = missing.has(parent) ? removed.has(parent) : replaced.has(parent) || (await isMissing(comparison, key));
    if (isGone) removed.add(key);
    else if (!missing.has(parent)) unreadable.push({ path, reason: "the sandbox's user may not read it" });
  }
  return { removed, unreadable };
}

async function isMissing({ sandbox, signal }: Comparison, key: string): Promise<boolean> {
  try {
    await sandbox.guest.files.stat(insidePath(sandbox, key), { follow: false, signal });
    return false;
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    if (cause.code === "FILE_NOT_FOUND" || cause.code === "FILE_NOT_DIRECTORY") return true;
    if (cause.code === "FILE_DENIED") return false;
    throw cause;
  }
}
