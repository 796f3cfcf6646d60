import type { BigIntStats } from "node:fs";
import type { FileIds } from "../../runtime/contract/shared-folders.ts";
import { nameOf, showVolumePath } from "./volume-path.ts";

/** The years 1 to 9999, which clients read. A program can give a file any time that its file system keeps. */
const [FIRST_MS, LAST_MS] = [-62_135_596_800_000, 253_402_300_799_999];

/** A file, folder or link of a volume. Ids and modes are those inside. */
export interface VolumeEntry {
  readonly name: string;
  /** Begins with a slash, which is the volume's root. */
  readonly path: string;
  readonly type: "file" | "directory" | "symlink" | "unknown";
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly atime: Date;
  readonly mtime: Date;
  readonly ctime: Date;
  /** The text of a link. Nobody here follows it. */
  readonly target?: string;
}

export function toEntry(
  path: Buffer,
  stats: BigIntStats,
  { ids, target }: { readonly ids: FileIds; readonly target: Buffer | undefined },
): VolumeEntry {
  return {
    name: nameOf(path).toString(),
    path: showVolumePath(path),
    type: stats.isFile() ? "file" : stats.isDirectory() ? "directory" : stats.isSymbolicLink() ? "symlink" : "unknown",
    size: Number(stats.size),
    mode: Number(stats.mode) & 0o7777,
    ...ids,
    atime: timeOf(stats.atimeMs),
    mtime: timeOf(stats.mtimeMs),
    ctime: timeOf(stats.ctimeMs),
    ...(target && { target: target.toString() }),
  };
}

export function idsOf({ uid, gid }: BigIntStats): FileIds {
  return { uid: Number(uid), gid: Number(gid) };
}

function timeOf(ms: bigint): Date {
  return new Date(Math.min(LAST_MS, Math.max(FIRST_MS, Number(ms))));
}
