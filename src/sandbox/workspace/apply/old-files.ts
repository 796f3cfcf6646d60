import { constants } from "node:fs";
import { lstat, open, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileError, ifPresent } from "../../../files/file-error.ts";
import { copyContent } from "../copy-content.ts";
import type { HostEntry } from "../entry.ts";
import { fromKey } from "../entry.ts";
import type { HostFolder } from "../host-folder.ts";
import { isSameFile } from "../stamp.ts";

/** The old files of the last apply, kept in the home under the names that they had in the staging folder. */
export interface OldFiles {
  /** Moves one out of the staging folder. */
  keep(name: string, before: HostEntry): Promise<void>;
  /** Makes it again in the staging folder. False when it was never kept. */
  bringBack(name: string, before: HostEntry): Promise<boolean>;
}

export function openOldFiles(kept: string, folder: HostFolder): OldFiles {
  const placeOf = (name: string): string => join(kept, name.slice(name.lastIndexOf("/") + 1));
  return {
    async keep(name, before) {
      const path = fromKey(name);
      const now = await folder.stat(path);
      if (!now) return;
      if (!isSameFile(before, now)) return folder.remove(path);
      if (await folder.moveOut(path, placeOf(name))) return;
      await told(placeOf(name), copyOut(folder, { path, to: placeOf(name), before }));
      await folder.remove(path);
    },
    async bringBack(name, before) {
      const path = fromKey(name);
      if (!(await ifPresent(placeOf(name), lstat(placeOf(name))))) return false;
      await folder.remove(path);
      if (await folder.moveIn(placeOf(name), path)) return true;
      if (before.type === "link") await folder.makeLink(path, before.target ?? Buffer.alloc(0));
      else await copyIn(folder, path, { kept: placeOf(name), before });
      if (process.getuid?.() === 0) await folder.setOwner(path, before);
      if (before.type === "file") await folder.setMode(path, before.mode);
      await folder.setTime(path, before);
      return true;
    },
  };
}

interface Copy {
  readonly path: Buffer;
  readonly to: string;
  readonly before: HostEntry;
}

/**
 * What lies there now is opened, and no link followed: a sandbox may write this folder. A copy that was cut off is replaced: the old file was
 * still in the staging folder then.
 */
async function copyOut(folder: HostFolder, { path, to, before }: Copy): Promise<void> {
  await rm(to, { force: true });
  if (before.type === "link") return symlink(before.target ?? Buffer.alloc(0), to);
  await using file = await folder.openFile(path);
  await using kept = await open(to, "wx", 0o600);
  await copyContent(file.createReadStream({ autoClose: false }), kept, before.size);
}

async function copyIn(folder: HostFolder, path: Buffer, { kept, before }: { readonly kept: string; readonly before: HostEntry }) {
  await using from = await open(kept, constants.O_RDONLY | constants.O_NOFOLLOW);
  await using file = await folder.createFile(path);
  await copyContent(from.createReadStream({ autoClose: false }), file, before.size);
}

async function told<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw fileError(path, cause);
  }
}
