import { BelljarError } from "../../errors.ts";
import type { Entry, HostEntry } from "./entry.ts";
import { fromKey, showPath } from "./entry.ts";

/** What a sandbox made of its workspace, and what of it can be written to the host's folder as that is now. */
export interface WorkspaceDiff {
  readonly sandboxId: string;
  readonly hostPath: string;
  /** What `applyWorkspace` writes, ordered by path. */
  readonly changes: readonly WorkspaceChange[];
  /** What the host's folder changed too, or may have changed. It is left alone. */
  readonly conflicts: readonly WorkspaceConflict[];
  /** What programs of the host run or obey unasked. It is left out unless it is named. */
  readonly held: readonly HeldChange[];
  /** Conflicts that the caller decided for the host's side. */
  readonly settled: readonly WorkspaceChange[];
  /** How many changes were left out because git of the host ignores their files. */
  readonly ignored: number;
  /** How many commits the sandbox made: `fetchCommits` brings them. */
  readonly commits: number;
  /** What cannot be brought back, each with its reason: sockets, devices, what the sandbox's user may not read. */
  readonly skipped: readonly SkippedEntry[];
}

export interface SkippedEntry {
  readonly path: string;
  readonly reason: string;
}

export interface WorkspaceConflict {
  readonly change: WorkspaceChange;
  readonly reason: string;
}

export interface HeldChange {
  readonly change: WorkspaceChange;
  /** What runs it. */
  readonly reason: string;
}

/** `host` is what is there now, `guest` what shall be there. */
export type WorkspaceChange = ChangeText &
  (
    | { readonly kind: "added"; readonly guest: Entry; readonly host?: undefined }
    | { readonly kind: "modified" | "type_changed" | "mode_changed"; readonly guest: Entry; readonly host: HostEntry }
    | { readonly kind: "removed"; readonly host: HostEntry; readonly guest?: undefined }
  );

interface ChangeText {
  /** For people; `key` is exact. */
  readonly path: string;
  readonly key: string;
  /** A unified diff, for text of a moderate size. */
  readonly patch?: string;
  readonly isBinary?: boolean;
  /** Of the sandbox's content that the patch shows: what is applied is what was seen. */
  readonly sha256?: string;
  /** What is written in place of the sandbox's content: that, with the host's own changes. */
  readonly merged?: Buffer;
  /** It was a conflict, which the caller decided for the sandbox's side. */
  readonly isForced?: boolean;
  /** The sandbox's entry where `guest` was merged. */
  readonly unmerged?: Entry;
  /** Somebody chose some of its lines: `merged` has those alone. */
  readonly part?: ChosenPart;
}

export interface ChosenPart {
  /** The text from which both sides' changes count afterwards. Undefined: nobody knows it. */
  readonly base: Buffer | undefined;
  /** The host had changes of its own. */
  readonly isMerged: boolean;
}

/** A file that the sandbox's user may not read is named, and the rest goes on. */
export async function orUnreadable<T>(key: string, work: () => Promise<T>): Promise<T | SkippedEntry> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "FILE_DENIED") return { path: showPath(fromKey(key)), reason: cause.message };
    throw cause;
  }
}
