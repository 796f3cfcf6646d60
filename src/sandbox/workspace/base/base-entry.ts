import type { Entry } from "../entry.ts";

/** An entry of the host's folder as the workspace began with it. */
export interface BaseEntry extends Entry {
  readonly key: string;
  readonly inode: bigint;
  readonly ctimeNs: bigint;
  /** Git's name of the content, where the file was as git's index has it. */
  readonly blob?: string;
}

/** What is known of how a workspace began. */
export interface BaseAnswer {
  /** The time of the host's files when the sandbox was made: what changed later has a later `ctime`. Absent: not known. */
  readonly startedNs?: bigint;
  /** Whether the list of the folder was completed: what it does not have was not there. */
  readonly isComplete: boolean;
  /** Of the keys that were asked for. */
  readonly entries: readonly BaseEntry[];
}

/** How a `copy` workspace began, for whoever compares and applies. */
export interface WorkspaceBase {
  /** Rejects with `FILE_IO` for a damaged list. */
  workspaceBase(keys: readonly string[]): Promise<BaseAnswer>;
  /** The text of a file that git did not have. Undefined where none was kept. */
  workspaceBaseText(key: string): Promise<Buffer | undefined>;
}
