import type { DeadlineAction, RecordedRun } from "./run.ts";

/** The base of a sandbox that was created without one. */
export const DEFAULT_BASE = { template: "base" } as const;

/**
 * The base of a sandbox whose programs all come from `Base.layers`, which anybody may have made. It has what every sandbox needs, and Belljar's own
 * programs. A runtime without `Isolation.states` has none.
 */
export const BARE_BASE = { template: "bare" } as const;

/** What a sandbox starts from. */
export interface Base {
  readonly template: string;
  /**
   * A state of a sandbox that started from this template, or the layers of an image, the topmost first. Only the first run looks at it. The
   * sandbox becomes a user of the layers.
   */
  readonly layers?: readonly string[];
}

/** What a runtime is asked to build. All of it is decided before: names resolved, defaults applied. */
export interface SandboxSpec extends RecordedRun {
  readonly base: Base;
  readonly hostname: string;
  readonly limits: Limits;
  /** Limits that the caller named; one that this host cannot enforce is `LIMIT_UNENFORCEABLE`. */
  readonly required: readonly (keyof Limits)[];
  readonly workspace?: Workspace;
  /** Shared folders that it sees, and can write. They belong to no state. Rejects with `ARGUMENTS_INVALID` as `assertMounts` says. */
  readonly mounts?: readonly Mount[];
  /** Set: dies with the process that made it. */
  readonly ephemeral: boolean;
  /** Programs inside may filter their own system calls. Such filters take from one count of the whole machine. */
  readonly nestedFilters?: boolean;
  /** False: no command runs as root, and `sudo` is refused. Default true, where there are two ids. */
  readonly root?: boolean;
  /**
   * Whoever runs commands, file operations and watches that name nobody, and may use `sudo`: `name`, `uid`, `name:group` or `uid:gid`, in any mixture,
   * as an image says it. What it means is read inside, for each of them: one that means nobody, or root where there is none, is `USER_UNKNOWN`.
   * Default the template's: root on `BARE_BASE` unless `root` is false, else `user`.
   */
  readonly user?: string;
  readonly deadline?: Date;
  /** Default `kill`. */
  readonly deadlineAction?: DeadlineAction;
}

/** Absent means unlimited. */
export interface Limits {
  readonly memoryBytes?: number;
  /** Cores, may be a fraction. */
  readonly cpus?: number;
  readonly pids?: number;
  readonly diskBytes?: number;
  readonly openFiles?: number;
}

/** A host folder that the sandbox sees at `inside.workspace`. */
export interface Workspace {
  readonly path: string;
  readonly mode: "copy" | "ro" | "rw";
}

/** A folder of `SharedFolders`. */
export interface Mount {
  /** Its own folder on the host, absolute: what is shown is `tree` in it. */
  readonly folder: string;
  /** Where it is shown, absolute. Folders above it are made. What lies there is hidden, or, if it is no folder, taken away. */
  readonly at: string;
}
