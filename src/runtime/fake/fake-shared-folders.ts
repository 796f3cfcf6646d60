import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { INSIDE } from "../../protocol/inside.ts";
import type { FileIds, SharedFolders } from "../contract/shared-folders.ts";

const USER = Number(INSIDE.userId);

/** All files are this process's own. */
export const fakeSharedFolders: SharedFolders = {
  make: (folder) => mkdir(join(folder, "tree")),
  remove: (folder) => rm(join(folder, "tree"), { recursive: true, force: true }),
  async measure(folder) {
    const entries = await readdir(join(folder, "tree"), { recursive: true, withFileTypes: true });
    const sizes = await Promise.all(entries.map(({ parentPath, name }) => lstat(join(parentPath, name))));
    return sizes.reduce((sum, { blocks }) => sum + blocks * 512, 0);
  },
  toHost: ({ uid, gid }) => (uid === USER && gid === USER ? ownIds() : undefined),
  toInside: () => ({ uid: USER, gid: USER }),
};

function ownIds(): FileIds {
  return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}
