import type { BigIntStats } from "node:fs";
import { BelljarError } from "../../errors.ts";
import { printable } from "../../files/printable.ts";
import type { FileInfo } from "../../runtime/guest/guest.ts";

/** A file, folder or link as either side of a workspace has it. */
export interface Entry {
  readonly type: FileInfo["type"];
  readonly size: number;
  /** Read, write and execute bits alone: nothing that a sandbox marks setuid may become so on the host. */
  readonly mode: number;
  readonly mtimeNs: bigint;
  /** A link's text. */
  readonly target?: Buffer;
}

/** An entry of the host; what is beside `Entry` tells whether it was changed since. */
export interface HostEntry extends Entry {
  readonly inode: bigint;
  readonly ctimeNs: bigint;
  readonly uid: number;
  readonly gid: number;
  /** Of a folder that has some: sticky, setgid and setuid. They are no part of its mode. */
  readonly specialBits?: number;
}

const PERMISSIONS = 0o777;
const SPECIAL = 0o7000;
const MAX_PATH_BYTES = 4000;

export function fromGuest(info: FileInfo): Entry {
  const { type, size, mode, mtimeNs, target } = info;
  return { type, size, mode: mode & PERMISSIONS, mtimeNs, ...(target !== undefined && { target: Buffer.from(target) }) };
}

export function fromHost(stats: BigIntStats, target?: Buffer): HostEntry {
  const specialBits = stats.isDirectory() ? Number(stats.mode) & SPECIAL : 0;
  return {
    type: typeOf(stats),
    size: Number(stats.size),
    mode: Number(stats.mode) & PERMISSIONS,
    mtimeNs: stats.mtimeNs,
    ctimeNs: stats.ctimeNs,
    inode: stats.ino,
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    ...(specialBits > 0 && { specialBits }),
    ...(target && { target }),
  };
}

function typeOf(stats: BigIntStats): Entry["type"] {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "link" : "other";
}

/** The key of a path's bytes in a map: two names that only look alike stay two. */
export function toKey(path: Buffer): string {
  return path.toString("latin1");
}

export function fromKey(key: string): Buffer {
  return Buffer.from(key, "latin1");
}

/** The key of the folder above; empty for what lies in the root. */
export function parentKey(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf("/")));
}

/**
 * A path that a guest named, to be used below a host folder. Rejects with `PATH_INVALID` all that could lead out of it:
 * absolute paths, `.` and `..`, empty parts, NUL. Links are the writer's to refuse.
 */
export function assertRelativePath(path: Buffer): void {
  const parts = toKey(path).split("/");
  const isBad = (part: string): boolean => part === "" || part === "." || part === ".." || part.includes("\0");
  if (path.length <= MAX_PATH_BYTES && !parts.some(isBad)) return;
  throw new BelljarError("PATH_INVALID", `The sandbox names a path that the host does not take: ${showPath(path)}`);
}

/** For people: what could steer a terminal is written out, and such a name stands in quotes. */
export function showPath(path: Buffer): string {
  const text = path.toString().slice(0, 1000);
  return printable(text) === text ? text : printable(JSON.stringify(text));
}
