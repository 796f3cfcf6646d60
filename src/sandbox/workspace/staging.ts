import type { HostFolder } from "./host-folder.ts";
import { createStagingName } from "./staging-name.ts";

/** Files on their way into a host folder: complete before the first of them is moved to its place. */
export interface Staging extends AsyncDisposable {
  readonly root: string;
  /** A path for one more file, new and unique. */
  next(): Buffer;
}

/** A folder inside the target, so that each move is one rename. Disposing removes it with what was not moved. */
export async function openStaging(folder: HostFolder): Promise<Staging> {
  const root = createStagingName();
  await folder.makeDirectory(Buffer.from(root));
  const given: Buffer[] = [];
  return {
    root,
    next: () => {
      const path = Buffer.from(`${root}/${given.length}`);
      given.push(path);
      return path;
    },
    [Symbol.asyncDispose]: async () => {
      for (const path of given) await folder.remove(path);
      await folder.remove(Buffer.from(root));
    },
  };
}
