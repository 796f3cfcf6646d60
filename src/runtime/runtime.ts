import type { Duplex } from "node:stream";

/** A way to make sandboxes. Everything above `runtime/` sees sandboxes through this and {@link RunningSandbox} alone. */
export interface Runtime {
  readonly name: string;
  /** What this runtime enforces on this host, found by trying, not by reading version strings. Cached after the first call. */
  probe(): Promise<Isolation>;
  /**
   * Builds a sandbox and resolves once its guest answers. `spec.folder` exists and belongs to this sandbox alone.
   * Rejects with `LIMIT_UNENFORCEABLE`, `RUNTIME_UNAVAILABLE` or `RUNTIME_FAILED`; on rejection or abort nothing is left behind.
   */
  create(spec: SandboxSpec, signal: AbortSignal): Promise<RunningSandbox>;
  /** Opens a sandbox that an earlier or another process made; undefined when it lives no more. */
  open(id: string, folder: string): Promise<RunningSandbox | undefined>;
  /**
   * Clears what a dead sandbox left behind (layers, control groups, sockets) and says why it ended; undefined while it lives.
   * Safe to call from several processes at once.
   */
  clear(id: string, folder: string): Promise<SandboxEnd | undefined>;
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

/** A live sandbox. Disposing it kills it and resolves when nothing of it is left; `release` lets it live on. */
export interface RunningSandbox extends AsyncDisposable {
  readonly id: string;
  /** The template's environment, for every command inside. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Opens one stream to the guest: one stream, one operation, with the kernel's own back-pressure. The caller destroys it. Streams
   * that the guest cannot take yet wait in line. Rejects with `SANDBOX_PAUSED`, and with `SANDBOX_UNRESPONSIVE` when the line stands still.
   */
  connect(signal: AbortSignal): Promise<Duplex>;
  /** Within seconds, as all below: rejects with `SANDBOX_UNRESPONSIVE`. What only its guest knows is 0 when that does not answer. */
  usage(): Promise<Usage>;
  /** Moves the moment at which the keeper acts by itself, whether or not this process still lives; undefined takes it away. */
  extend(deadline: Date | undefined): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Ends the sandbox whether or not anybody in it answers; resolves when its processes are gone and the reason is written. Killing an ended one is no error. */
  kill(reason: EndReason): Promise<SandboxEnd>;
  /** Settles once, when the sandbox has ended; never rejects. */
  readonly ended: Promise<SandboxEnd>;
  /** Closes what this process holds of it; the sandbox lives on. An ephemeral one dies with its process all the same. */
  release(): Promise<void>;
}

export type EndReason = "killed" | "deadline" | "out_of_memory" | "exited" | "host_lost" | "keeper_lost" | "create_failed";

export interface SandboxEnd {
  readonly reason: EndReason;
  /** When the end was written; for `keeper_lost` when it was found. */
  readonly at: Date;
}

/** What a runtime is asked to build. All of it is decided before: names resolved, defaults applied. */
export interface SandboxSpec {
  readonly id: string;
  /** The sandbox's own folder on the host, absolute. The runtime owns what it puts there. */
  readonly folder: string;
  readonly template: string;
  readonly hostname: string;
  readonly limits: Limits;
  /** Limits that the caller named; one that this host cannot enforce is `LIMIT_UNENFORCEABLE`. */
  readonly required: readonly (keyof Limits)[];
  readonly workspace?: Workspace;
  /** Set: dies with the process that made it. */
  readonly ephemeral: boolean;
  /** Programs inside may filter their own system calls. Such filters take from one count of the whole machine. */
  readonly nestedFilters?: boolean;
  readonly deadline?: Date;
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

/** A host folder that the sandbox sees at `/home/user`. */
export interface Workspace {
  readonly path: string;
  readonly mode: "copy" | "ro" | "rw";
}

export interface Usage {
  readonly memoryBytes: number;
  readonly memoryPeakBytes: number;
  readonly cpuUs: number;
  readonly processes: number;
  readonly oomKills: number;
  readonly phase: "running" | "paused" | "ending";
  readonly deadline?: Date;
}

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
