import { BelljarError } from "../../errors.ts";
import type { FileInfo } from "../../runtime/guest/guest.ts";
import type { Texts } from "../../text/texts.ts";
import { mapLimit } from "../../async/map-limit.ts";
import type { Sandbox } from "../sandbox.ts";
import { hashGuestFile, hashHostFile, insidePath } from "./compare-content.ts";
import type { Entry, HostEntry } from "./entry.ts";
import { fromGuest, fromKey, parentKey, showPath } from "./entry.ts";
import { readGuestTree } from "./guest-tree.ts";
import { HostFolder } from "./host-folder.ts";
import type { SkippedEntry, WorkspaceChange, WorkspaceDiff } from "./workspace-change.ts";
import { orUnreadable } from "./workspace-change.ts";
import { addPatches } from "./workspace-patches.ts";
import { INSIDE } from "../../protocol/inside.ts";

const MAX_ENTRIES = 500_000;
const PARALLEL = 4;

export interface DiffOptions {
  readonly texts: Texts;
  readonly signal: AbortSignal;
}

/**
 * Compares `/home/user`, as its user sees it, with the workspace on the host. Links are compared, never followed.
 * Nothing for mode `ro`; `WORKSPACE_INVALID` for `rw`, whose changes are on the host already, and without a workspace.
 */
export async function diffWorkspace(sandbox: Sandbox, { texts, signal }: DiffOptions): Promise<WorkspaceDiff> {
  const { workspace } = await sandbox.info();
  if (!workspace)
    throw new BelljarError(
      "WORKSPACE_INVALID",
      `Sandbox ${sandbox.id} has no workspace to compare with: take files out with \`belljar cp\``,
    );
  if (workspace.mode === "rw")
    throw new BelljarError("WORKSPACE_INVALID", `Sandbox ${sandbox.id} writes to ${workspace.path} itself: its changes are there already`);
  const empty = { sandboxId: sandbox.id, hostPath: workspace.path, changes: [], skipped: [] };
  return workspace.mode === "ro" ? empty : compare({ sandbox, folder: new HostFolder(workspace.path), texts, signal });
}

interface Comparison extends DiffOptions {
  readonly sandbox: Sandbox;
  readonly folder: HostFolder;
}

interface Pair {
  readonly key: string;
  readonly guest?: Entry;
  readonly host?: HostEntry;
}

async function compare(comparison: Comparison): Promise<WorkspaceDiff> {
  const { sandbox, folder, signal } = comparison;
  const [host, guest] = await Promise.all([
    folder.walk(MAX_ENTRIES),
    readGuestTree(sandbox, INSIDE.userHome, { signal, maxEntries: MAX_ENTRIES }),
  ]);
  const pairs = pairUp(host, guest);
  const compared = await mapLimit(pairs, PARALLEL, (pair) => orUnreadable(pair.key, () => comparePair(comparison, pair)));
  const changes = compared.flatMap((change) => (change && "kind" in change ? [change] : []));
  const { removed, unreadable } = await confirmRemoved(comparison, changes);
  const kept = changes.filter((change) => change.kind !== "removed" || removed.has(change.key));
  const shown = await addPatches(comparison, kept);
  const skipped = [...unusable(guest), ...[...compared, ...shown].filter(isSkipped), ...unreadable];
  return { sandboxId: sandbox.id, hostPath: folder.root, changes: shown.filter((change) => "kind" in change), skipped };
}

function isSkipped(result: WorkspaceChange | SkippedEntry | undefined): result is SkippedEntry {
  return result !== undefined && "reason" in result;
}

function pairUp(host: ReadonlyMap<string, HostEntry>, guest: ReadonlyMap<string, FileInfo>): readonly Pair[] {
  const keys = new Set([...host.keys(), ...guest.keys()]);
  return [...keys].toSorted(byPath).flatMap((key) => {
    const [there, here] = [host.get(key), guest.get(key)];
    if (here && reasonToSkip(here)) return [];
    return [{ key, ...(there && { host: there }), ...(here && { guest: fromGuest(here) }) }];
  });
}

function byPath(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function unusable(guest: ReadonlyMap<string, FileInfo>): readonly SkippedEntry[] {
  return [...guest.values()].flatMap((info) => {
    const reason = reasonToSkip(info);
    return reason === undefined ? [] : [{ path: showPath(info.rawPath), reason }];
  });
}

function reasonToSkip(info: FileInfo): string | undefined {
  if (info.type === "other") return "it is a socket, a pipe or a device";
  if (info.type === "link" && (info.target === undefined || info.target.includes("\uFFFD"))) return "the link's text is not UTF-8";
  return undefined;
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
  return guest.mtimeNs === host.mtimeNs || isSameBytes(comparison, key, host.size);
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
    await sandbox.guest.files.stat(insidePath(key), { follow: false, signal });
    return false;
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    if (cause.code === "FILE_NOT_FOUND" || cause.code === "FILE_NOT_DIRECTORY") return true;
    if (cause.code === "FILE_DENIED") return false;
    throw cause;
  }
}
