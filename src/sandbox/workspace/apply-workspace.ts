import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../sandbox.ts";
import { hashHostFile, insidePath } from "./compare-content.ts";
import { copyContent } from "./copy-content.ts";
import type { Entry, HostEntry } from "./entry.ts";
import { fromKey, parentKey, showPath } from "./entry.ts";
import { HostFolder } from "./host-folder.ts";
import { leadsOutside } from "./link-target.ts";
import type { Staging } from "./staging.ts";
import { openStaging } from "./staging.ts";
import type { WorkspaceChange, WorkspaceDiff } from "./workspace-change.ts";

const MAX_NAMED = 20;
/** Hooks, the configuration, and a file that says where a repository's own lie. */
const GIT_PROGRAM = /(?:^|\/)\.git(?:$|\/(?:.*\/)?(?:hooks\/|config(?:\.worktree)?$))/;

export interface ApplyResult {
  readonly written: number;
  readonly removed: number;
  /** Links that were made and lead out of the workspace, with their text. */
  readonly outsideLinks: readonly { readonly path: string; readonly target: string }[];
  /** What git on the host runs, or takes its commands from, without being asked. */
  readonly gitPrograms: readonly string[];
}

interface Apply {
  readonly sandbox: Sandbox;
  readonly folder: HostFolder;
  readonly signal: AbortSignal;
}

/**
 * Writes a diff's changes to the host's folder. First all content is taken out and held against the diff, then the host's side:
 * when either has changed since, it is `WORKSPACE_CONFLICT` and nothing was written. Files are replaced whole, removals come last.
 */
export async function applyWorkspace(sandbox: Sandbox, diff: WorkspaceDiff, signal: AbortSignal): Promise<ApplyResult> {
  const apply = { sandbox, folder: new HostFolder(diff.hostPath), signal };
  if (diff.sandboxId !== sandbox.id)
    throw new BelljarError("WORKSPACE_INVALID", `This diff is of sandbox ${diff.sandboxId}, not of ${sandbox.id}`);
  await assertUnchanged(apply.folder, diff.changes);
  await using staging = await openStaging(apply.folder);
  const staged = await stageFiles(apply, staging, diff.changes);
  await assertUnchanged(apply.folder, diff.changes);
  await writeChanges({ folder: apply.folder, staging, staged, ...(await ownerFor(apply.folder)) }, diff.changes);
  return summarise(diff.changes);
}

async function assertUnchanged(folder: HostFolder, changes: readonly WorkspaceChange[]): Promise<void> {
  const conflicts: string[] = [];
  for (const { key, path, host } of changes) {
    const now = await folder.stat(fromKey(key));
    if (!isSame(host, now)) conflicts.push(path);
  }
  if (conflicts.length > 0) throw conflict("on the host", conflicts);
}

/** A folder's times change with what is put into it: by its own changes it is not told apart. */
function isSame(then: HostEntry | undefined, now: HostEntry | undefined): boolean {
  if (!then || !now) return then === now;
  if (then.type !== now.type || then.inode !== now.inode || then.mode !== now.mode) return false;
  return then.type === "directory" || (then.size === now.size && then.mtimeNs === now.mtimeNs && then.ctimeNs === now.ctimeNs);
}

function conflict(where: string, paths: readonly string[]): BelljarError {
  const named = paths.slice(0, MAX_NAMED).join(", ");
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : "";
  return new BelljarError(
    "WORKSPACE_CONFLICT",
    `Changed ${where} since the diff: ${named}${more}. Nothing was written: look at a new diff first`,
  );
}

async function stageFiles(apply: Apply, staging: Staging, changes: readonly WorkspaceChange[]): Promise<ReadonlyMap<string, Buffer>> {
  const staged = new Map<string, Buffer>();
  for (const change of changes) {
    if (change.guest?.type !== "file" || change.kind === "mode_changed") continue;
    const path = staging.next();
    staged.set(change.key, path);
    await stageFile(apply, path, change, change.guest);
  }
  return staged;
}

async function stageFile({ sandbox, folder, signal }: Apply, to: Buffer, change: WorkspaceChange, guest: Entry): Promise<void> {
  const file = await folder.createFile(to);
  try {
    const { info, content } = await sandbox.guest.files.open(insidePath(change.key), { limit: guest.size, signal });
    const size = await copyContent(content, file, guest.size);
    if (size !== guest.size || info.size !== guest.size || info.mtimeNs !== guest.mtimeNs) throw conflict("in the sandbox", [change.path]);
  } finally {
    await file.close();
  }
  if (change.sha256 !== undefined && (await hashHostFile(folder, to.toString("latin1"), { limit: guest.size, signal })) !== change.sha256)
    throw conflict("in the sandbox", [change.path]);
  await folder.setTime(to, guest);
}

interface Writing {
  readonly folder: HostFolder;
  readonly staging: Staging;
  readonly staged: ReadonlyMap<string, Buffer>;
  /** Root gives what it writes to the user whose workspace it is. */
  readonly owner?: Owner;
}

type Owner = Pick<HostEntry, "uid" | "gid">;

async function writeChanges(writing: Writing, changes: readonly WorkspaceChange[]): Promise<void> {
  const { folder } = writing;
  const early = toMakeRoom(changes);
  for (const { key } of changes.toReversed()) if (early.has(key)) await folder.remove(fromKey(key));
  for (const change of changes) if (change.guest && change.guest.type !== "link") await writeChange(writing, change, change.guest);
  for (const change of changes) if (change.guest?.type === "link") await writeChange(writing, change, change.guest);
  for (const { key, guest } of changes.toReversed()) if (guest && guest.type !== "link") await folder.setMode(fromKey(key), guest.mode);
  for (const { key, kind } of changes.toReversed()) if (kind === "removed") await folder.remove(fromKey(key));
}

/** What stands where something of another type shall be, with all below it. */
function toMakeRoom(changes: readonly WorkspaceChange[]): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { key, kind } of changes) if (kind === "type_changed" || (kind === "removed" && keys.has(parentKey(key)))) keys.add(key);
  return keys;
}

async function writeChange(writing: Writing, change: WorkspaceChange, guest: Entry): Promise<void> {
  if (change.kind === "mode_changed") return;
  const { folder, staging, staged, owner } = writing;
  const path = fromKey(change.key);
  const from = staged.get(change.key) ?? staging.next();
  const giveTo = owner && (change.host ?? owner);
  if (guest.type === "directory") await folder.makeDirectory(path);
  if (guest.type === "link") await folder.makeLink(from, guest.target ?? Buffer.alloc(0));
  if (giveTo) await folder.setOwner(guest.type === "directory" ? path : from, giveTo);
  if (guest.type !== "directory") await folder.rename(from, path);
}

async function ownerFor(folder: HostFolder): Promise<{ readonly owner?: Owner }> {
  const root = process.getuid?.() === 0 ? await folder.stat(Buffer.alloc(0)) : undefined;
  return root ? { owner: root } : {};
}

function summarise(changes: readonly WorkspaceChange[]): ApplyResult {
  const outside = changes.filter(({ key, guest }) => guest?.type === "link" && guest.target && leadsOutside(key, guest.target));
  const removed = changes.filter(({ kind }) => kind === "removed").length;
  return {
    written: changes.length - removed,
    removed,
    gitPrograms: changes.filter(({ key, guest }) => guest?.type !== "directory" && guest && GIT_PROGRAM.test(key)).map(({ path }) => path),
    outsideLinks: outside.map(({ path, guest }) => ({ path, target: showPath(guest?.target ?? Buffer.alloc(0)) })),
  };
}
