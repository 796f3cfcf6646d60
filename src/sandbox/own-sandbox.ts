import type { NetworkState } from "./network/network-state.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { Principal, RollbackResult, Sandbox, TimeLine } from "./sandbox.ts";

/** A sandbox of this home, whoever its owner is. `principal`: whose wish it is; absent: one without grants. */
export interface OwnSandbox extends Omit<Sandbox, "setNetwork" | "start" | "timeLine"> {
  readonly record: SandboxRecord;
  readonly timeLine: OwnTimeLine;
  networkState(): Promise<NetworkState>;
  setNetwork(policy: NetworkState["policy"], options?: { readonly capped?: boolean; readonly principal?: Principal }): Promise<void>;
  start(signal: AbortSignal, principal?: Principal): Promise<OwnSandbox>;
}

/** The time line of a sandbox of this home. */
export interface OwnTimeLine extends Omit<TimeLine, "rollback"> {
  /** The new run counts against the quota of `principal`. */
  rollback(point: string, signal: AbortSignal, principal?: Principal): Promise<OwnRollback>;
  beforeCall(tool: string, signal: AbortSignal): Promise<string | undefined>;
}

export interface OwnRollback extends Omit<RollbackResult, "sandbox"> {
  readonly sandbox: OwnSandbox;
}
