import { randomBytes } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { link, open, rename, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errnoOf, ifPresent } from "./file-error.ts";

/** Prefix of files that are not complete yet. Readers of a folder skip them. A killed process may leave one behind. */
export const UNFINISHED = ".new-";

/** true: a power cut takes neither the content nor the name of a new file. `content`: a file that has its name has its content. */
export type FlushWish = boolean | "content";

export interface WriteOptions {
  /** Default: 0600. */
  readonly mode?: number;
  /** Flush the content to disk before the file gets its name. A power cut then leaves the old content or the new one. */
  readonly flush?: boolean;
}

/** Replaces the file atomically: readers see the old content or the new one. Rejects with the error of the file system. */
export async function replaceFile(path: string, content: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
  await withFreshFile(path, { content, ...options }, (fresh) => rename(fresh, path));
}

/** The same as `replaceFile`, for content that `write` writes bit by bit. */
export async function replaceFileBy(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const fresh = freshPath(path);
  try {
    const file = await open(fresh, "wx", 0o600);
    try {
      await write(file);
    } finally {
      await file.close();
    }
    await rename(fresh, path);
  } finally {
    await ifPresent(fresh, unlink(fresh));
  }
}

/** The same as `replaceFile` for callers that cannot wait, such as handlers of the process's exit. */
export function replaceFileSync(path: string, content: string | Uint8Array, { mode = 0o600, flush = false }: WriteOptions = {}): void {
  const fresh = freshPath(path);
  try {
    writeFileSync(fresh, content, { mode, flag: "wx", flush });
    renameSync(fresh, path);
  } finally {
    rmSync(fresh, { force: true });
  }
}

/**
 * Creates the file atomically. With `flush: true`, a power cut does not take its name away either. Returns false if a file of that name exists
 * already. Rejects with the error of the file system.
 */
export async function createFile(
  path: string,
  content: string | Uint8Array,
  { mode, flush = false }: Pick<WriteOptions, "mode"> & { readonly flush?: FlushWish } = {},
): Promise<boolean> {
  return withFreshFile(path, { content, ...(mode !== undefined && { mode }), flush: flush !== false }, async (fresh) => {
    try {
      await link(fresh, path);
      if (flush === true) await flushPath(dirname(path));
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
    await ifPresent(fresh, unlink(fresh));
  }
}

/** What the file holds, or the names in the folder, then outlive a power cut. */
export async function flushPath(path: string): Promise<void> {
  await using file = await open(path);
  await file.sync();
}

function freshPath(path: string): string {
  return join(dirname(path), UNFINISHED + randomBytes(8).toString("hex"));
}
