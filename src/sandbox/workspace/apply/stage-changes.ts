import { BelljarError } from "../../../errors.ts";
import type { Sandbox } from "../../sandbox.ts";
import { hashHostFile, insidePath } from "../compare-content.ts";
import { copyContent } from "../copy-content.ts";
import type { Entry, HostEntry } from "../entry.ts";
import type { HostFolder } from "../host-folder.ts";
import type { Staging } from "../staging.ts";
import type { WorkspaceChange } from "../workspace-change.ts";

/** Text of this size is kept as the base of the next merge. */
const TEXT_MAX_BYTES = 1024 * 1024;

export interface StageSources {
  readonly sandbox: Sandbox;
  readonly folder: HostFolder;
  readonly staging: Staging;
  readonly owner?: Pick<HostEntry, "uid" | "gid">;
  readonly signal: AbortSignal;
}

/** A file or link that is complete, with its owner, mode and times. */
export interface StagedFile {
  readonly path: Buffer;
  readonly after: HostEntry;
  /** What the sandbox has, if it is text. */
  readonly text?: Buffer;
}

/** Takes all that a diff writes out of the sandbox, into the staging folder. What is no longer what was shown is `WORKSPACE_CONFLICT`. */
export async function stageChanges(sources: StageSources, changes: readonly WorkspaceChange[]): Promise<ReadonlyMap<string, StagedFile>> {
  const staged = new Map<string, StagedFile>();
  for (const change of changes) {
    const { guest, kind } = change;
    if (!guest || guest.type === "directory" || kind === "mode_changed") continue;
    staged.set(change.key, await stage(sources, change, guest));
  }
  return staged;
}

async function stage(sources: StageSources, change: WorkspaceChange, guest: Entry): Promise<StagedFile> {
  const { folder, staging, owner } = sources;
  const path = staging.next();
  if (guest.type === "link") await folder.makeLink(path, guest.target ?? Buffer.alloc(0));
  const text = guest.type === "file" ? await stageFile(sources, path, { change, guest }) : undefined;
  if (owner) await folder.setOwner(path, change.host ?? owner);
  if (guest.type === "file") {
    await folder.setMode(path, guest.mode);
    await folder.setTime(path, guest);
  }
  const after = await folder.stat(path);
  if (!after) throw conflict(change);
  return { path, after, ...(text && { text }) };
}

interface GuestFile {
  readonly change: WorkspaceChange;
  readonly guest: Entry;
}

/** Resolves with the sandbox's text. */
async function stageFile(sources: StageSources, path: Buffer, { change, guest }: GuestFile): Promise<Buffer | undefined> {
  const { folder, signal } = sources;
  const source = change.unmerged ?? guest;
  await takeOut(sources, path, { change, guest: source });
  const digest =
    change.sha256 === undefined ? undefined : await hashHostFile(folder, path.toString("latin1"), { limit: source.size, signal });
  if (digest !== change.sha256) throw conflict(change);
  const text = source.size <= TEXT_MAX_BYTES ? await readBack(folder, path, source.size) : undefined;
  if (change.merged) {
    await folder.remove(path);
    await using file = await folder.createFile(path);
    await file.writeFile(change.merged);
  }
  return text?.includes(0) ? undefined : text;
}

async function takeOut({ sandbox, folder, signal }: StageSources, path: Buffer, { change, guest }: GuestFile): Promise<void> {
  await using file = await folder.createFile(path);
  const { info, content } = await sandbox.guest.files.open(insidePath(sandbox, change.key), { limit: guest.size, signal });
  const size = await copyContent(content, file, guest.size);
  if (size !== guest.size || info.size !== guest.size || info.mtimeNs !== guest.mtimeNs) throw conflict(change);
}

async function readBack(folder: HostFolder, path: Buffer, size: number): Promise<Buffer> {
  await using file = await folder.openFile(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, 0);
  return buffer.subarray(0, bytesRead);
}

function conflict({ path }: WorkspaceChange): BelljarError {
  return new BelljarError(
    "WORKSPACE_CONFLICT",
    `Changed in the sandbox since the diff: ${path}. Nothing was written: look at a new diff first`,
  );
}
