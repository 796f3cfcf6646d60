import type { Sandbox } from "../sandbox.ts";
import type {
  ChangedPaths,
  Checkpoint,
  CheckpointOptions,
  ComparedPoints,
  PointDiff,
  RollbackInfo,
  TimeLineInfo,
} from "../wire/state-schemas.ts";

export type * from "../wire/state-schemas.ts";

/**
 * The time line of one sandbox: checkpoints that it can be put back to. Points are named by the ids of checkpoints, and of snapshots of this
 * sandbox. All that takes a point rejects with `CHECKPOINT_NOT_FOUND`, and with `NOT_SUPPORTED` by runtimes that freeze nothing.
 */
export interface TimeLine {
  list(): Promise<TimeLineInfo>;
  /** Freezes what the sandbox has written until now. A power cut may lose a checkpoint, and leaves none half there. */
  checkpoint(options: CheckpointOptions, signal: AbortSignal): Promise<Checkpoint>;
  /**
   * Puts the sandbox back: its files are those of the point, its id and links stay, and all of its processes end. Open streams end with
   * `SANDBOX_ROLLED_BACK`. Afterwards it runs, also if it was stopped.
   */
  rollback(point: string, signal: AbortSignal): Promise<RollbackResult>;
  remove(checkpoint: string): Promise<void>;
  /** What changed from one point to another, or to now. */
  diff(points: ComparedPoints, signal: AbortSignal): Promise<PointDiff>;
  /** Gives paths, and what is below them, the content that they had at a point. Other paths stay as they are. */
  undo(to: string, paths: readonly string[], signal: AbortSignal): Promise<ChangedPaths>;
  /**
   * Brings what another sandbox has changed since both had the same files into this one: a fork's changes into the sandbox that it was forked
   * from, or into a sister. Texts that both changed are merged line by line. What cannot be merged is left alone and named.
   */
  merge(from: Sandbox, paths: readonly string[] | undefined, signal: AbortSignal): Promise<ChangedPaths>;
}

export interface RollbackResult extends RollbackInfo {
  readonly sandbox: Sandbox;
}
