import type { LayerStore } from "./layer-store.ts";
import type { RecordedRun, Run, RunningSandbox, SandboxEnd, Usage } from "./run.ts";
import type { Limits, SandboxSpec } from "./sandbox-spec.ts";
import type { SharedFolders } from "./shared-folders.ts";

/** A way to make sandboxes. Everything above `runtime/` sees sandboxes through this and {@link RunningSandbox} alone. */
export interface Runtime {
  readonly name: string;
  readonly layers: LayerStore;
  /** Absent where what sandboxes write lies in no file system of the runtime's own. */
  readonly storagePool?: StoragePool;
  /** Absent where sandboxes cannot share folders: a create with `mounts` then rejects with `NOT_SUPPORTED`. */
  readonly shared?: SharedFolders;
  /** What this runtime enforces on this host, found by trying, not by reading version strings. Cached after the first call. */
  probe(): Promise<Isolation>;
  /**
   * Starts one run of a sandbox and resolves once its guest answers. `spec.folder` exists and belongs to this sandbox alone. The first
   * run makes the sandbox's layers; each later run finds them as the run before it left them. Rejects with `LIMIT_UNENFORCEABLE`,
   * `NOT_SUPPORTED`, `TEMPLATE_NOT_FOUND`, `RUNTIME_UNAVAILABLE` or `RUNTIME_FAILED`; a later run also with
   * `SANDBOX_FILES_LOST`. On rejection or abort nothing of the run is left,
   * and layers that were there before are as they were.
   */
  create(spec: SandboxSpec, signal: AbortSignal): Promise<RunningSandbox>;
  /** Opens a run that an earlier or another process started; undefined when it lives no more. */
  open(run: RecordedRun): Promise<RunningSandbox | undefined>;
  /**
   * Looks at very many runs together, in their order. Undefined for each run that does not answer at once, whole and in order: look at it by
   * itself. Of one that is running, its guest has answered too. Never rejects. Absent: each is looked at by itself.
   */
  look?(runs: readonly RecordedRun[]): Promise<readonly (RunLook | undefined)[]>;
  /**
   * Clears what a dead run left behind (control groups, sockets) and says why it ended; undefined while it lives. The sandbox's layers
   * stay. The end of a second or later run that was lost, or that never came up, is `kept`. Safe to call from several processes at once.
   */
  clear(run: Run): Promise<SandboxEnd | undefined>;
}

/**
 * The room that a runtime has for what sandboxes write. Whoever opened the runtime disposes it: sandboxes live on, and when none lives in the
 * pool and nobody else has it open, its room is given back as far as it is free.
 */
export interface StoragePool extends AsyncDisposable {
  /** Undefined while there is none. Rejects with `RUNTIME_UNAVAILABLE` and `RUNTIME_FAILED`. */
  holds(): Promise<PoolHoldings | undefined>;
  /** Fits its size to the room that the host has, and gives back what is free. Does nothing while this process does not use it. */
  tend(): Promise<void>;
}

/** All as of some seconds ago. */
export interface PoolHoldings {
  /** As much as it may hold now. */
  readonly sizeBytes: number;
  readonly usedBytes: number;
  /** As much as it takes of the host's disk. */
  readonly hostBytes: number;
  /** What each sandbox wrote, by id. What it wrote before a freeze counts here for as long as the sandbox is there. */
  readonly sandboxes: ReadonlyMap<string, number>;
  /** How many frozen layers lie in it. */
  readonly layers: number;
}

/** What a runtime is opened with. */
export interface RuntimeOptions {
  /** `$BELLJAR_HOME`, absolute. */
  readonly home: string;
  /** A short 0700 folder for sockets. */
  readonly runtimeDirectory: string;
  readonly storage: "auto" | "btrfs" | "tmpfs" | "home";
  /** The native binary. */
  readonly binary: string;
  /** Belljar's programs that run inside. */
  readonly kernels?: string;
  /** Executables for `/opt/belljar/bin` inside: their names there, and the files on this host. */
  readonly programs?: Readonly<Record<string, string>>;
  readonly onProgress?: (message: string) => void;
}

/** What a list tells of a run that lives. */
export type RunLook = Pick<Usage, "phase" | "pauseReason" | "deadline" | "deadlineAction">;

/** What holds on this host, line by line; `belljar doctor` and every sandbox's info show it. */
export interface Isolation {
  readonly runtime: string;
  /** False: no sandbox can be made here; `checks` say why and what to do. */
  readonly available: boolean;
  readonly checks: readonly IsolationCheck[];
  /** Limits that are enforced here; the others are reported, not promised. */
  readonly limits: readonly (keyof Limits)[];
  /** `root` and `user` are two ids inside, or one. */
  readonly users: "two" | "one";
  readonly terminals: boolean;
  readonly pause: boolean;
  /** A sandbox can be paused by itself when it is idle. */
  readonly sleep: boolean;
  /** A sandbox can be stopped and started again. */
  readonly stop: boolean;
  /** How most sandboxes are frozen: in constant time, by a copy of what they wrote, or not at all. */
  readonly states: "clone" | "copy" | "none";
}

export interface IsolationCheck {
  /** Stable, kebab-case: `user-namespace`, `seccomp`, `memory-limit` ... */
  readonly id: string;
  readonly state: "enforced" | "partial" | "absent";
  /** One sentence of fact. */
  readonly detail: string;
  /** The exact thing to do to get it, when there is one. */
  readonly remedy?: string;
}
