import { posix } from "node:path";

export interface CopyOptions {
  readonly from: string;
  readonly to: string;
  /** Whose rights count in the sandbox. */
  readonly user?: string;
  readonly signal: AbortSignal;
  /** Called with the size of each part of a file's content that was carried. */
  readonly onBytes?: (count: number) => void;
}

export interface CopyResult {
  /** Where it ended up. */
  readonly to: string;
  readonly files: number;
  /** Sockets, pipes and devices, which are not copied. */
  readonly skipped: readonly string[];
}

/** `to` itself, or `name` in it when it is a folder or is written as one. */
export async function copyTarget(to: string, name: string, isFolder: (path: string) => Promise<boolean>): Promise<string> {
  const isInto = to === "" || to.endsWith("/") || to.endsWith("/.") || to === "." || (await isFolder(to));
  return isInto ? posix.join(to, name) : to;
}
