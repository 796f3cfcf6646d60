import { lstat } from "node:fs/promises";
import { resolve } from "node:path";
import { errnoOf } from "../../../files/file-error.ts";
import { hostGit } from "../host-git.ts";
import type { HostEntry } from "../entry.ts";
import { toKey } from "../entry.ts";

const MAX_BYTES = 128 * 1024 * 1024;
const ROW =
  /[0-7]{6} ([0-9a-f]{40,64}) 0\t([^\0]+)\0 {2}ctime: (\d+):(\d+)\n {2}mtime: (\d+):(\d+)\n {2}dev: \d+\tino: \d+\n {2}uid: \d+\tgid: \d+\n {2}size: (\d+)\tflags: [0-9a-f]+\n/y;

/** What git of the host knows of a folder, by key. */
export interface GitFiles {
  /** Git's name of a file's content, if the file is as the index has it. */
  blobOf(key: string, entry: HostEntry): string | undefined;
  /** Whether git neither tracks nor ignores it. */
  isUntracked(key: string): boolean;
  isTracked(key: string): boolean;
}

interface IndexRow {
  readonly blob: string;
  readonly ctimeNs: bigint;
  readonly mtimeNs: bigint;
  readonly size: number;
}

/** Undefined where the folder is in no repository, and where git or its answer is not as expected. */
export async function readGitFiles(folder: string, signal: AbortSignal): Promise<GitFiles | undefined> {
  const call = { folder, maxBytes: MAX_BYTES, signal };
  const [path, tracked, others] = await Promise.all([
    hostGit(["rev-parse", "--git-path", "index"], call),
    hostGit(["ls-files", "-z", "--stage", "--debug"], call),
    hostGit(["ls-files", "-z", "--others", "--exclude-standard"], call),
  ]);
  if (!path || !tracked || !others) return undefined;
  const writtenNs = await indexTime(resolve(folder, path.toString().trimEnd()));
  const rows = readRows(toKey(tracked));
  const untracked = new Set(toKey(others).split("\0"));
  return {
    isUntracked: (key) => untracked.has(key),
    isTracked: (key) => rows.has(key),
    blobOf: (key, entry) => {
      const row = rows.get(key);
      const isSame = row?.ctimeNs === entry.ctimeNs && row.mtimeNs === entry.mtimeNs && row.size === entry.size;
      // A file that was written in the same moment as the index may differ from it.
      return isSame && entry.mtimeNs < writtenNs ? row.blob : undefined;
    },
  };
}

async function indexTime(path: string): Promise<bigint> {
  try {
    return (await lstat(path, { bigint: true })).mtimeNs;
  } catch (cause) {
    if (errnoOf(cause) === undefined) throw cause;
    return 0n;
  }
}

/** What does not read as a row ends the list: the files after it are as if git did not know them. */
function readRows(text: string): ReadonlyMap<string, IndexRow> {
  const rows = new Map<string, IndexRow>();
  ROW.lastIndex = 0;
  for (let found = ROW.exec(text); found; found = ROW.exec(text)) {
    const [, blob = "", key = "", cs = "", cn = "", ms = "", mn = "", size = ""] = found;
    rows.set(key, { blob, ctimeNs: toNs(cs, cn), mtimeNs: toNs(ms, mn), size: Number(size) });
  }
  return rows;
}

function toNs(seconds: string, nanoseconds: string): bigint {
  return BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds);
}
