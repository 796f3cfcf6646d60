import type { Duplex } from "node:stream";

/** One run of a sandbox. A sandbox is an id; it may be stopped and started again, and each start is a run. */
export interface Run {
  readonly id: string;
  /** Counts the sandbox's runs, from 1. */
  readonly generation: number;
  /** The sandbox's own folder on the host, absolute. The runtime owns `runs/` and `layers/` in it. */
  readonly folder: string;
}

/** A run with what was written down when the sandbox was made. */
export interface RecordedRun extends Run {
  readonly inside: Inside;
}

/** What a sandbox shows inside, whatever it is made of. */
export interface Inside {
  /** The base's environment, for every command. HOME, USER and the like come from the guest. */
  readonly env: Readonly<Record<string, string>>;
  /** The home of the user whose commands name no other one. */
  readonly home: string;
  /** Where its workspace is shown; without one, the home. `/workspace` leads there, but in a sandbox on `BARE_BASE` without a workspace. */
  readonly workspace: string;
  /** Where a command starts that names no folder. */
  readonly cwd: string;
}

/** One run of a sandbox that lives. Disposing it kills the sandbox and resolves when nothing of it is left; `release` lets it live on. */
export interface RunningSandbox extends AsyncDisposable {
  readonly id: string;
  readonly generation: number;
  /** The template's environment, for every command inside. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Opens one stream to the guest: one stream, one operation, with the kernel's own back-pressure. The caller destroys it. Streams
   * that the guest cannot take yet wait in line. Rejects with `SANDBOX_PAUSED`, and with `SANDBOX_UNRESPONSIVE` when the line stands still.
   */
  connect(signal: AbortSignal): Promise<Duplex>;
  /** Within seconds, as all below: rejects with `SANDBOX_UNRESPONSIVE`. What only its guest knows is 0 when that does not answer. */
  usage(): Promise<Usage>;
  /**
   * Moves the moment at which the keeper acts by itself, whether or not this process still lives; undefined takes it away. `action`: what
   * the keeper does then; absent: what was set before. Rejects with `NOT_SUPPORTED` for an action that this sandbox cannot have.
   */
  extend(deadline: Date | undefined, action?: DeadlineAction): Promise<void>;
  /**
   * Freezes all its programs, and gives memory back to the host where the kernel can take it. Each pause and each resume, whoever asked for
   * it, sets a new time on `Run.folder`. Rejects with `NOT_SUPPORTED` where `Isolation.pause` is false.
   */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Whether `connect` would reject with `SANDBOX_PAUSED` now. Asks nobody. */
  isPaused(): boolean;
  /**
   * From now on it is paused by itself when it has been idle for about this time, whether or not this process still lives; undefined: never.
   * It is idle while nobody waits on a stream of its guest, no call comes (a PING is none), and its programs use less than a hundredth of a
   * processor. A stream that waits for a connection from inside is no use. Rejects with `NOT_SUPPORTED` where `Isolation.sleep` is false.
   */
  sleepAfter(idleMs: number | undefined): Promise<void>;
  /**
   * Ends the run and keeps all that the sandbox wrote for another run, whatever process crashes. Nothing is flushed: until
   * `LayerStore.flush` a power cut may lose what was written in the last half minute or so. Rejects with `NOT_SUPPORTED` when this run's files cannot be kept; then it lives on. Of a stop and a kill at once, the kill holds.
   */
  stop(): Promise<SandboxEnd>;
  /**
   * Ends the sandbox and removes what it wrote, whether or not anybody in it answers. Resolves when its processes are gone and the reason is
   * written. Killing an ended one is no error.
   */
  kill(reason: EndReason): Promise<SandboxEnd>;
  /** Settles once, when the run has ended; never rejects. */
  readonly ended: Promise<SandboxEnd>;
  /** Closes what this process holds of it; the sandbox lives on. An ephemeral one dies with its process all the same. */
  release(): Promise<void>;
}

/**
 * What the keeper does at the deadline: `kill` deletes the sandbox, `stop` keeps what it wrote. `pause` freezes it, or leaves it frozen, for
 * seven days: then it is stopped. Whatever cannot be paused is stopped. A sandbox whose files cannot be kept is deleted.
 */
export type DeadlineAction = "kill" | "pause" | "stop";

/** The last three are of stopped sandboxes that were removed unasked. No runtime gives them. */
export type EndReason =
  | "stopped"
  | "killed"
  | "deadline"
  | "out_of_memory"
  | "exited"
  | "host_lost"
  | "keeper_lost"
  | "create_failed"
  | "expired"
  | "no_room"
  | "files_lost";

export interface SandboxEnd {
  readonly reason: EndReason;
  /** When the end was written; for `keeper_lost` when it was found. */
  readonly at: Date;
  /** The sandbox was stopped: what it wrote is whole, and another run can be started. */
  readonly kept?: true;
}

export type PauseReason = "asked" | "deadline" | "idle";

export interface Usage {
  readonly memoryBytes: number;
  readonly memoryPeakBytes: number;
  readonly cpuUs: number;
  readonly processes: number;
  /** How many processes the kernel has killed for lack of memory. Absent if nobody counts them on this host. */
  readonly oomKills?: number;
  readonly phase: "running" | "paused" | "ending";
  /** Of a paused one: somebody asked for it, its deadline did it, or it was idle. */
  readonly pauseReason?: PauseReason;
  /** Of a paused one: the memory that it took just before. Absent if nobody counts it on this host. */
  readonly memoryAwakeBytes?: number;
  readonly deadline?: Date;
  readonly deadlineAction: DeadlineAction;
}
