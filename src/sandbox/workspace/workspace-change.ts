import { BelljarError } from "../../errors.ts";
import type { Entry, HostEntry } from "./entry.ts";
import { fromKey, showPath } from "./entry.ts";

/** What a sandbox made of its workspace, against the host's folder as it is now. */
export interface WorkspaceDiff {
  readonly sandboxId: string;
  readonly hostPath: string;
  /** Ordered by path. */
  readonly changes: readonly WorkspaceChange[];
  /** What cannot be brought back, each with its reason: sockets, devices, what the sandbox's user may not read. */
  readonly skipped: readonly SkippedEntry[];
}

export interface SkippedEntry {
  readonly path: string;
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
  /** Of the content that the patch shows: what is applied is what was seen. */
  readonly sha256?: string;
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
