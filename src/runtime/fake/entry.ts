import { type BigIntStats, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import type { Field } from "../../protocol/fields.ts";
import { ENTRY_TYPE } from "../../protocol/wire.ts";
import type { SandboxPaths } from "./sandbox-paths.ts";

const USER_ID = 1_000;
const PERMISSION_BITS = 0o7777n;

/** The row of one path. All files of a fake sandbox belong to `user`. */
export function entryFields(paths: SandboxPaths, host: Buffer, name: Buffer, follow = false): Field[] {
  const stats = follow ? statSync(host, { bigint: true }) : lstatSync(host, { bigint: true });
  return [
    ["PATH", name],
    ["TYPE", entryType(stats)],
    ["SIZE", stats.size],
    ["MODE", Number(stats.mode & PERMISSION_BITS)],
    ["UID", USER_ID],
    ["GID", USER_ID],
    ["OWNER", "user"],
    ["GROUP", "user"],
    ["MTIME_NS", stats.mtimeNs],
    ["INODE", stats.ino],
    ["LINKS", Number(stats.nlink)],
    ...(stats.isSymbolicLink() ? linkFields(paths, host) : []),
  ];
}

function entryType(stats: BigIntStats): number {
  if (stats.isFile()) return ENTRY_TYPE.FILE;
  if (stats.isDirectory()) return ENTRY_TYPE.DIRECTORY;
  return stats.isSymbolicLink() ? ENTRY_TYPE.LINK : ENTRY_TYPE.OTHER;
}

function linkFields(paths: SandboxPaths, host: Buffer): Field[] {
  return [
    ["TARGET", readlinkSync(host, "buffer")],
    ["RESOLVED", resolvedLink(paths, host)],
  ];
}

function resolvedLink(paths: SandboxPaths, host: Buffer): Buffer | undefined {
  try {
    return paths.toGuest(realpathSync(host, "buffer"));
  } catch {
    // It leads nowhere, which a row may say by leaving the field out.
    return undefined;
  }
}
