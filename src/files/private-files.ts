import { randomBytes } from "node:crypto";
import { link, lstat, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { BelljarError } from "../errors.ts";
import { errnoOf, fileError, ifPresent } from "./file-error.ts";

/** Makes the folder 0700, or checks that it is this user's alone. Throws `FILE_IO` when it is not. */
export async function ensurePrivateFolder(path: string): Promise<void> {
  await told(path, mkdir(path, { recursive: true, mode: 0o700 }));
  const found = await told(path, lstat(path));
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0)
    throw new BelljarError("FILE_IO", `${path} must be a folder that this user alone can open: run chmod 700 on it, or remove it`);
}

/** Undefined when there is none. Throws `FILE_IO` for one that other users may read or write. */
export async function readPrivateFile(path: string): Promise<string | undefined> {
  const found = await ifPresent(path, lstat(path));
  if (found && (!found.isFile() || (found.mode & 0o077) !== 0))
    throw new BelljarError("FILE_IO", `${path} must be a file that this user alone can read: run chmod 600 on it, or remove it`);
  return found && (await ifPresent(path, readFile(path, "utf8")));
}

/** Readers see the old content or the new one. */
export async function replacePrivateFile(path: string, text: string): Promise<void> {
  await withFreshFile(path, text, (fresh) => rename(fresh, path));
}

/** False when another process was first; then its content stands. */
export async function createPrivateFile(path: string, text: string): Promise<boolean> {
  return withFreshFile(path, text, async (fresh) => {
    try {
      await link(fresh, path);
      return true;
    } catch (cause) {
      if (errnoOf(cause) === "EEXIST") return false;
      throw cause;
    }
  });
}

/** Whether it was there. */
export async function removeFile(path: string): Promise<boolean> {
  return (
    (await ifPresent(
      path,
      rm(path).then(() => true),
    )) ?? false
  );
}

async function withFreshFile<T>(path: string, text: string, place: (fresh: string) => Promise<T>): Promise<T> {
  const fresh = `${dirname(path)}/.new-${randomBytes(8).toString("hex")}`;
  try {
    await writeFile(fresh, text, { mode: 0o600, flag: "wx", flush: true });
    return await place(fresh);
  } catch (cause) {
    throw fileError(path, cause);
  } finally {
    await rm(fresh, { force: true });
  }
}

async function told<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw fileError(path, cause);
  }
}
