import { posix } from "node:path";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { toAbsolute } from "../sandbox-path.ts";

/** Where a search program starts, and what it is told to search there. */
export interface SearchTarget {
  readonly absolute: string;
  readonly cwd: string;
  readonly argument: string;
  /** A path that the program prints, as the caller can give it to the other tools. */
  readonly toPath: (printed: string) => string;
}

/** Rejects with `FILE_NOT_FOUND`. `./` before the argument, so that no name is taken for an option. */
export async function findSearchTarget(sandbox: Sandbox, path: string | undefined, signal: AbortSignal): Promise<SearchTarget> {
  const absolute = toAbsolute(sandbox, path ?? ".");
  const { type } = await sandbox.guest.files.stat(absolute, { signal, follow: true });
  const isFolder = type === "directory";
  const base = isFolder ? (path ?? "") : posix.dirname(path ?? "");
  return {
    absolute,
    cwd: isFolder ? absolute : posix.dirname(absolute),
    argument: isFolder ? "./" : `./${posix.basename(absolute)}`,
    toPath: (printed) => posix.join(base, printed),
  };
}
