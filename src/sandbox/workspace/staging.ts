import type { HostFolder } from "./host-folder.ts";
import { createStagingName } from "./staging-name.ts";

/** Files on their way into a host folder: complete before the first of them is moved to its place. */
export interface Staging extends AsyncDisposable {
  readonly root: string;
  /** A path for one more file, new and unique. */
  next(): Buffer;
  /** A path for a file of the host's that is taken away: disposing does not remove it. */
  nextOld(): Buffer;
}

/** A folder inside the target, so that each move is one rename. Disposing removes it with what was not moved, unless a file of the host's lies in it. */
export async function openStaging(folder: HostFolder): Promise<Staging> {
  const root = createStagingName();
  await folder.makeDirectory(Buffer.from(root));
  const own: Buffer[] = [];
  let count = 0;
  const nextOld = (): Buffer => Buffer.from(`${root}/${count++}`);
  return {
    root,
    nextOld,
    next: () => {
      const path = nextOld();
      own.push(path);
      return path;
    },
    [Symbol.asyncDispose]: async () => {
      for (const path of own) await folder.remove(path);
      if (await folder.stat(Buffer.from(root))) await folder.removeFolder(Buffer.from(root));
    },
  };
}
