import { posix } from "node:path";
import { BelljarError } from "../../../../errors.ts";
import type { FileCall, FileInfo, GuestFiles } from "../../../../runtime/guest/guest.ts";
import type { EntryInfo } from "./entry-info.ts";
import { toEntryInfo } from "./entry-info.ts";
import { wordFileErrors } from "./file-errors.ts";
import { ATTRIBUTE_PREFIX } from "./file-metadata.ts";

/** Of one answer. */
export const ENTRIES_MAX = 50_000;
/** Of its paths and metadata. Names and metadata are what somebody inside chose. */
export const LIST_MAX_BYTES = 8 * 1024 * 1024;

export interface Listing {
  /** Absolute. */
  readonly path: string;
  /** Levels. */
  readonly depth: number;
}

/** What lies in a folder, each folder before what lies in it, by name. Rejects with `ARGUMENTS_INVALID` for what is no folder, and with `RESULT_TOO_LARGE`. */
export async function listFolder(files: GuestFiles, { path, depth }: Listing, call: FileCall): Promise<readonly EntryInfo[]> {
  const { type } = await wordFileErrors(path, () => files.stat(path, { ...call, follow: true }));
  if (type !== "directory") throw new BelljarError("ARGUMENTS_INVALID", `path is not a directory: ${path}`);
  const found: FileInfo[] = [];
  let bytes = 0;
  for await (const info of files.list(path, { ...call, depth, attributes: ATTRIBUTE_PREFIX })) {
    if (found.length === ENTRIES_MAX)
      throw new BelljarError("RESULT_TOO_LARGE", `More than ${ENTRIES_MAX} entries lie there: list fewer levels`);
    bytes += sizeOf(info, path);
    if (bytes > LIST_MAX_BYTES)
      throw new BelljarError("RESULT_TOO_LARGE", "Paths and metadata of more than 8 MiB lie there: list fewer levels, or a folder below");
    found.push(info);
  }
  const keyed = found.map((info) => ({ info, key: orderOf(info) }));
  return keyed
    .toSorted((one, other) => Buffer.compare(one.key, other.key))
    .map(({ info }) => toEntryInfo(info, posix.join(path, info.path)));
}

/** The parts of an entry whose length somebody inside chose. */
function sizeOf({ rawPath, target, resolved, attributes = new Map<string, Buffer>() }: FileInfo, folder: string): number {
  const metadata = [...attributes].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return folder.length + rawPath.length + (target?.length ?? 0) + (resolved?.length ?? 0) + metadata;
}

/** A slash before every other byte: what lies in a folder comes before its neighbours. */
function orderOf({ rawPath }: FileInfo): Buffer {
  return Buffer.from(rawPath.map((byte) => (byte === SLASH ? 0 : byte)));
}

const SLASH = "/".charCodeAt(0);
