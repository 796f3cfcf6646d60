import type { CreateOptions } from "../wire/create-schema.ts";
import type { SnapshotInfo, SnapshotOptions } from "../wire/state-schemas.ts";
import type { Principal, Sandbox } from "../sandbox.ts";

export type { SnapshotInfo, SnapshotOptions } from "../wire/state-schemas.ts";

/**
 * The snapshots of a home, seen by one principal at a time: frozen files of sandboxes, which outlive them. A snapshot of another owner, or of
 * another project for a principal that sees its own alone, answers exactly as an unknown one. Wherever a snapshot's id is asked, its name may stand.
 */
export interface Snapshots {
  /**
   * Freezes what a sandbox has written, while its programs run or between two runs. It is on disk before the answer. Rejects with
   * `SANDBOX_NOT_FOUND`, `SANDBOX_ENDED`, `SNAPSHOT_NAME_TAKEN`, `DISK_FULL`, `QUOTA_EXCEEDED`, and `NOT_SUPPORTED` by runtimes that freeze nothing.
   */
  create(principal: Principal, sandbox: string, options: SnapshotOptions, signal: AbortSignal): Promise<SnapshotInfo>;
  /** The newest first; `sandbox`: those of one sandbox, by its full id. */
  list(principal: Principal, options?: { readonly sandbox?: string | undefined }): Promise<readonly SnapshotInfo[]>;
  /** Rejects with `SNAPSHOT_NOT_FOUND`. */
  info(principal: Principal, id: string): Promise<SnapshotInfo>;
  /** Sandboxes that were made from it keep what they have of it. Rejects with `SNAPSHOT_NOT_FOUND`. */
  remove(principal: Principal, id: string): Promise<void>;
  /**
   * Makes sandboxes from a snapshot, or from a sandbox as it is now, whose programs go on. The options of the original hold where these
   * say nothing; name, network, secrets and links are not copied. All are made, or none. Rejects as `create` of both does.
   */
  fork(principal: Principal, from: ForkSource, options: ForkOptions, signal: AbortSignal): Promise<readonly Sandbox[]>;
}

export type ForkSource = { readonly snapshot: string } | { readonly sandbox: string };

export interface ForkOptions extends Omit<CreateOptions, "template" | "runtime" | "workspace" | "ephemeral"> {
  /** Default 1, at most 100. */
  readonly count?: number;
}
