import type { Workspace } from "../runtime/contract/sandbox-spec.ts";

/** What of a sandbox or a snapshot says whose files of the host it has. */
export interface FolderOf {
  readonly workspace?: Workspace | undefined;
  /** Path of the folder whose files a snapshot has taken in. */
  readonly tookIn?: string | undefined;
}

/** A folder of the host that a caller must be granted: what it holds can be read, through a mount or as a copy that was taken in. */
export function shownFolder({ workspace, tookIn }: FolderOf): Workspace | undefined {
  return workspace ?? (tookIn === undefined ? undefined : { path: tookIn, mode: "copy" });
}
