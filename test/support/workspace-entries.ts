import type { HostEntry } from "../../src/sandbox/workspace/entry.ts";
import type { WorkspaceChange } from "../../src/sandbox/workspace/workspace-change.ts";

/** When the sandbox of these tests was made, by the clock of the host's files. */
export const STARTED_NS = 100n;

type Fields = Partial<Omit<HostEntry, "type">>;

const PLAIN = { size: 1, mode: 0o644, mtimeNs: 10n, ctimeNs: 10n, inode: 1n, uid: 1000, gid: 1000 };

/** A file of the host that is as it was before the sandbox was made. */
export function fileEntry(fields: Fields = {}): HostEntry {
  return { ...PLAIN, type: "file", ...fields };
}

export function folderEntry(fields: Fields = {}): HostEntry {
  return { ...PLAIN, type: "directory", mode: 0o755, inode: 2n, ...fields };
}

export function linkEntry(target: string, fields: Fields = {}): HostEntry {
  return { ...PLAIN, type: "link", mode: 0o777, inode: 3n, target: Buffer.from(target), ...fields };
}

/** How the two sides of a path differ. Undefined: they do not. */
export function changeOf(key: string, guest: HostEntry | undefined, host: HostEntry | undefined): WorkspaceChange | undefined {
  const named = { path: key, key };
  if (!guest) return host && { ...named, kind: "removed", host };
  if (!host) return { ...named, kind: "added", guest };
  if (guest.type !== host.type) return { ...named, kind: "type_changed", guest, host };
  const isSame = guest.size === host.size && guest.mtimeNs === host.mtimeNs && String(guest.target) === String(host.target);
  if (guest.type !== "directory" && !isSame) return { ...named, kind: "modified", guest, host };
  return guest.mode === host.mode ? undefined : { ...named, kind: "mode_changed", guest, host };
}
