import { posix } from "node:path";
import * as z from "zod";
import type { FileInfo } from "../../../../runtime/guest/guest.ts";
import { metadataOf } from "./file-metadata.ts";

export const entrySchema = z.object({
  name: z.string(),
  type: z.enum(["FILE_TYPE_UNSPECIFIED", "FILE_TYPE_FILE", "FILE_TYPE_DIRECTORY", "FILE_TYPE_SYMLINK"]),
  path: z.string(),
  size: z.string().describe("In bytes"),
  mode: z.number().int().describe("The permission bits; of a link those of what it leads to"),
  permissions: z.string().describe("As Go writes a mode"),
  owner: z.string(),
  group: z.string(),
  modifiedTime: z.string(),
  symlinkTarget: z.string().optional().describe("Where the link ends; the link itself if it ends nowhere"),
  metadata: z.record(z.string(), z.string()),
});

export type EntryInfo = z.output<typeof entrySchema>;

const TYPES: Readonly<Record<FileInfo["type"], EntryInfo["type"]>> = {
  file: "FILE_TYPE_FILE",
  directory: "FILE_TYPE_DIRECTORY",
  link: "FILE_TYPE_SYMLINK",
  other: "FILE_TYPE_UNSPECIFIED",
};

/** A file as E2B tells of it. Of a link, type and mode are those of what it leads to. */
export function toEntryInfo(info: FileInfo, path: string): EntryInfo {
  const isLink = info.type === "link";
  const [type, mode] = isLink ? [info.resolvedType, info.resolvedMode ?? 0] : [info.type, info.mode];
  return {
    name: posix.basename(path) || "/",
    type: type === undefined ? "FILE_TYPE_UNSPECIFIED" : TYPES[type],
    path,
    size: String(info.size),
    mode: mode & 0o777,
    permissions: toGoMode(info),
    owner: info.owner,
    group: info.group,
    modifiedTime: toTimestamp(info.mtimeNs),
    ...(isLink && { symlinkTarget: info.resolved ?? path }),
    metadata: metadataOf(info),
  };
}

/** What is neither file, folder nor link has Go's letter for irregular files: the guest does not tell which it is. */
const KINDS: Readonly<Record<FileInfo["type"], string>> = { directory: "d", link: "L", other: "?", file: "" };
const SPECIAL = [
  [0o4000, "u"],
  [0o2000, "g"],
  [0o1000, "t"],
] as const;

/** As Go writes a mode: the letters of the kind and of the special bits, or a dash, and the nine permissions. */
export function toGoMode({ type, mode }: Pick<FileInfo, "type" | "mode">): string {
  const letters = KINDS[type] + SPECIAL.map(([bit, letter]) => (mode & bit ? letter : "")).join("");
  const permissions = Array.from("rwxrwxrwx")
    .map((letter, at) => (mode & (0o400 >> at) ? letter : "-"))
    .join("");
  return (letters === "" ? "-" : letters) + permissions;
}

/** RFC 3339 with nanoseconds, as protobuf's JSON has times. Years past 9999 have no such text. */
function toTimestamp(ns: bigint): string {
  const seconds = ns / 1_000_000_000n;
  const bounded = seconds > LAST_SECOND ? LAST_SECOND : seconds;
  const fraction = String(ns % 1_000_000_000n).padStart(9, "0");
  return `${new Date(Number(bounded) * 1_000).toISOString().slice(0, 19)}.${fraction}Z`;
}

const LAST_SECOND = 253_402_300_799n;
