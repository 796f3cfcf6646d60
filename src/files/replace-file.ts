import { randomBytes } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { link, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errnoOf } from "./file-error.ts";

/** The names of files that are not whole yet. Readers of a folder pass over them; a process that is killed leaves one behind. */
export const UNFINISHED = ".new-";

export interface WriteOptions {
  /** 0600 unless another one is named. */
  readonly mode?: number;
  /** Whether the content is on disk before the file has its name, so that a power cut leaves the old content or the new one. */
  readonly flush?: boolean;
}

/** Whole or not at all: readers see the old content or the new one. Rejects with what the file system says. */
export async function replaceFile(path: string, content: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
  await withFreshFile(path, { content, ...options }, (fresh) => rename(fresh, path));
}

/** The same for those who cannot wait, as at the exit of the process. */
export function replaceFileSync(path: string, content: string | Uint8Array, { mode = 0o600, flush = false }: WriteOptions = {}): void {
  const fresh = freshPath(path);
  try {
    writeFileSync(fresh, content, { mode, flag: "wx", flush });
    renameSync(fresh, path);
  } finally {
    rmSync(fresh, { force: true });
  }
}

/** Whole or not at all, and never over another file: false when one is there already. Rejects with what the file system says. */
export async function createFile(path: string, content: string | Uint8Array, options: WriteOptions = {}): Promise<boolean> {
  return withFreshFile(path, { content, ...options }, async (fresh) => {
    try {
      await link(fresh, path);
      return true;
    } catch (cause) {
      if (errnoOf(cause) === "EEXIST") return false;
      throw cause;
    }
  });
}

interface FreshFile extends WriteOptions {
  readonly content: string | Uint8Array;
}

async function withFreshFile<T>(
  path: string,
  { content, mode = 0o600, flush = false }: FreshFile,
  place: (fresh: string) => Promise<T>,
): Promise<T> {
  const fresh = freshPath(path);
  try {
    await writeFile(fresh, content, { mode, flag: "wx", flush });
    return await place(fresh);
  } finally {
    await rm(fresh, { force: true });
  }
}

function freshPath(path: string): string {
  return join(dirname(path), UNFINISHED + randomBytes(8).toString("hex"));
}
