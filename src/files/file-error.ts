import { BelljarError } from "../errors.ts";

/** The error of the table for a failed file operation below the home. Its message says what a person can do. One of the table stays as it is. */
export function fileError(path: string, cause: unknown): BelljarError {
  if (cause instanceof BelljarError) return cause;
  const code = errnoOf(cause);
  if (code === "ENOSPC" || code === "EDQUOT")
    return new BelljarError("DISK_FULL", `No space is left for ${path}: free some on that file system`, { cause });
  return new BelljarError("FILE_IO", `Cannot use ${path} (${code ?? "unknown error"}): check that this user may read and write it`, {
    cause,
  });
}

export function errnoOf(cause: unknown): string | undefined {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
}

/** Returns the result of `work`, or undefined if the path does not exist. Rejects with `fileError` for other failures. */
export async function ifPresent<T>(path: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (cause) {
    return unlessAbsent(path, cause);
  }
}

/** The same for synchronous work. */
export function nowIfPresent<T>(path: string, work: () => T): T | undefined {
  try {
    return work();
  } catch (cause) {
    return unlessAbsent(path, cause);
  }
}

function unlessAbsent(path: string, cause: unknown): undefined {
  const code = errnoOf(cause);
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  throw fileError(path, cause);
}
