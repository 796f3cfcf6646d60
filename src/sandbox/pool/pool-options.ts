import type { Guest } from "../../runtime/guest/guest.ts";
import type { SandboxEnd } from "../../runtime/contract/run.ts";
import type { CreateOptions } from "../sandbox.ts";
import type { HostRoom } from "./spare-host.ts";

/** The sandboxes that a process keeps ready, and what it does with those that wait. */
export interface PoolOptions {
  /** Names what is inside beside the template: a sandbox of another version is not taken. */
  readonly version: string;
  /** What this process keeps ready. Without any it only takes what other processes of the home have made. */
  readonly kinds: readonly PoolKind[];
  /** What this process keeps ready of hidden snapshots. Absent: nothing. */
  readonly passing?: PassingOptions;
  /**
   * What was started in a sandbox before it had an owner gets the owner's variables, or is ended. `env`: what commands have now and had not
   * then. Runs before anybody learns the id. A rejection ends the sandbox.
   */
  readonly handOver: (sandbox: WaitingSandbox, env: Readonly<Record<string, string>>) => Promise<void>;
  /** While the host is busy, one is made a second; while it is full, none. Default: by its load and its free memory. */
  readonly room?: () => HostRoom;
}

/** One kind of sandboxes to keep ready. */
export interface PoolKind {
  readonly name: string;
  readonly size: number;
  /** What they are made with. A create whose sandbox would be the same gets one of them. */
  readonly options: Pick<CreateOptions, "limits" | "ephemeral">;
  /** True: they are made from the start on. False: from the first create of the kind on. */
  readonly isEager: boolean;
  /** Starts what is to wait inside. It runs no user's code. A rejection ends the sandbox. */
  readonly warm: (sandbox: WaitingSandbox, signal: AbortSignal) => Promise<void>;
}

/** What waits in a sandbox that begins with a hidden snapshot. */
export type PassingStart = NonNullable<CreateOptions["keepsReady"]>;

/** The kinds that come with the creates of hidden snapshots, and go. */
export interface PassingOptions {
  /** Of all of them together, in counts. */
  readonly name: string;
  /** How many there are at most. The least recently used one makes room. */
  readonly kinds: number;
  /** How many sandboxes of each wait. */
  readonly size: number;
  /** A kind that nobody has used for so long goes. */
  readonly idleMs: number;
  /** As `PoolKind.warm`. Of the files of the snapshot nothing is run either. */
  readonly warm: (start: PassingStart, ...to: Parameters<PoolKind["warm"]>) => Promise<void>;
}

/** A sandbox that has no owner yet. */
export interface WaitingSandbox {
  readonly id: string;
  readonly guest: Guest;
  readonly ended: Promise<SandboxEnd>;
}

/** What the pool of a process has and did, by the name of the kind. */
export interface PoolCounts {
  readonly kind: string;
  readonly ready: number;
  /** Creates that got a sandbox that waited. */
  readonly taken: number;
  /** Creates for which none was ready. */
  readonly missed: number;
}
