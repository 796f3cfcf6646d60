import { lstat, mkdir, readFile, rm } from "node:fs/promises";
import { BelljarError } from "../errors.ts";
import { fileError, ifPresent } from "./file-error.ts";
import { createFile, replaceFile } from "./replace-file.ts";

/** Creates the folder with mode 0700, or checks that only this user can open it. Throws `FILE_IO` if others can. */
export async function ensurePrivateFolder(path: string): Promise<void> {
  await told(path, mkdir(path, { recursive: true, mode: 0o700 }));
  const found = await told(path, lstat(path));
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0)
    throw new BelljarError("FILE_IO", `${path} must be a folder that only this user can open: run chmod 700 on it, or remove it`);
}

/** Returns undefined if the file does not exist. Throws `FILE_IO` if other users may read or write it. */
export async function readPrivateFile(path: string): Promise<string | undefined> {
  const found = await ifPresent(path, lstat(path));
  if (found && (!found.isFile() || (found.mode & 0o077) !== 0))
    throw new BelljarError("FILE_IO", `${path} must be a file that only this user can read: run chmod 600 on it, or remove it`);
  return found && (await ifPresent(path, readFile(path, "utf8")));
}

/** Readers see the old content or the new one, even after a power cut. */
export async function replacePrivateFile(path: string, text: string): Promise<void> {
  await told(path, replaceFile(path, text, { flush: true }));
}

/** Returns false if another process created the file first. Its content then stays. */
export async function createPrivateFile(path: string, text: string): Promise<boolean> {
  return told(path, createFile(path, text, { flush: true }));
}

/** Returns true if the file existed. */
export async function removeFile(path: string): Promise<boolean> {
  return (
    (await ifPresent(
      path,
      rm(path).then(() => true),
    )) ?? false
  );
}

async function told<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw fileError(path, cause);
  }
}
