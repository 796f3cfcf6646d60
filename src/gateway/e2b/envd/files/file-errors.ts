import type { ErrorCode } from "../../../../errors.ts";
import { BelljarError } from "../../../../errors.ts";

/** As E2B's program in a sandbox words them: people and programs look for these texts. */
const TEXTS: Readonly<Partial<Record<ErrorCode, (path: string) => string>>> = {
  FILE_NOT_FOUND: (path) => `path '${path}' does not exist`,
  FILE_IS_DIRECTORY: (path) => `path '${path}' is a directory`,
  FILE_NOT_DIRECTORY: (path) => `path '${path}' leads through what is not a directory`,
  FILE_DENIED: (path) => `permission denied: the user may not do that at '${path}'`,
  DISK_FULL: () => "not enough disk space available",
};

/** Words what the guest refuses about this path. */
export async function wordFileErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw wordFileError(path, cause);
  }
}

export function wordFileError(path: string, cause: unknown): unknown {
  const text = cause instanceof BelljarError ? TEXTS[cause.code] : undefined;
  return text && cause instanceof BelljarError ? new BelljarError(cause.code, text(path), { cause }) : cause;
}
