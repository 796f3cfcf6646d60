import { BelljarError } from "../../errors.ts";
import type { FileInfo } from "../../runtime/guest/guest.ts";
import type { Sandbox } from "../sandbox.ts";
import { assertRelativePath, parentKey, showPath, toKey } from "./entry.ts";

/** Of all paths together: half a million of the longest ones would fill this process's memory. */
const MAX_NAMES_BYTES = 64 * 1024 * 1024;
/** Deeper than any path of 4,096 bytes. */
const ALL_DEPTHS = 4096;

export interface GuestTreeOptions {
  readonly signal: AbortSignal;
  readonly user?: string;
  readonly maxEntries: number;
}

/**
 * All that lies below a folder of a sandbox. The guest is not trusted: paths are relative, stand once,
 * and lie in a folder that the guest has named as one; else `PATH_INVALID`. Past `maxEntries` it is `FILE_TOO_LARGE`.
 */
export async function readGuestTree(
  sandbox: Sandbox,
  path: string | Buffer,
  options: GuestTreeOptions,
): Promise<ReadonlyMap<string, FileInfo>> {
  const { signal, user, maxEntries } = options;
  const tree = new Map<string, FileInfo>();
  let namesBytes = 0;
  for await (const info of sandbox.guest.files.list(path, { signal, depth: ALL_DEPTHS, ...(user !== undefined && { user }) })) {
    assertRelativePath(info.rawPath);
    const key = toKey(info.rawPath);
    if (tree.has(key)) throw new BelljarError("PATH_INVALID", `The sandbox names ${showPath(info.rawPath)} twice`);
    tree.set(key, info);
    namesBytes += info.rawPath.length;
    if (namesBytes > MAX_NAMES_BYTES)
      throw new BelljarError("FILE_TOO_LARGE", "The paths in the sandbox's folder are too long, all together, to take it out");
    if (tree.size > maxEntries)
      throw new BelljarError("FILE_TOO_LARGE", `The sandbox's folder holds more than ${maxEntries} entries: too many to take out`);
  }
  assertFoldersAbove(tree);
  return tree;
}

function assertFoldersAbove(tree: ReadonlyMap<string, FileInfo>): void {
  for (const [key, { rawPath }] of tree) {
    const parent = parentKey(key);
    if (parent === "" || tree.get(parent)?.type === "directory") continue;
    throw new BelljarError("PATH_INVALID", `The sandbox names ${showPath(rawPath)}, but what lies above it is not a folder`);
  }
}
