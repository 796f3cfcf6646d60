import type { Duplex } from "node:stream";
import type { NetworkPolicy } from "../network/policy.ts";
import type { ListeningPort, PortLink } from "../network/ports/port-link.ts";
import type { Guest } from "../runtime/guest/guest.ts";
import type { DeadlineAction, Inside, SandboxEnd, Usage } from "../runtime/contract/run.ts";
import type { Limits } from "../runtime/contract/sandbox-spec.ts";
import type { Principal } from "./principal.ts";
import type { CreateOptions } from "./wire/create-schema.ts";
import type { SandboxEvent } from "./wire/event-schema.ts";
import type { Remedy } from "./tell-refusals.ts";
import type { SANDBOX_STATES, SandboxInfo } from "./wire/sandbox-schema.ts";
import type * as wire from "./wire/state-schemas.ts";
import type { WorkspaceBase } from "./workspace/base/base-entry.ts";

/** What a sandbox's guest and ports say, for the rooms above, which know neither. */
export type { ExecExit, ExecOptions, ExecProcess, FileInfo, Guest, GuestFiles, KeptProcess, RunOptions } from "../runtime/guest/guest.ts";
export type { PortLink } from "../network/ports/port-link.ts";
export type { TemplateInfo } from "../runtime/contract/layer-store.ts";
export { DEFAULT_BASE } from "../runtime/contract/sandbox-spec.ts";

/** What every sandbox shows inside. */
export { INSIDE } from "../protocol/inside.ts";
export { type Area, type Grants, LOCAL, type Principal, type Project, type Quotas, type TokenSurface } from "./principal.ts";
export type { CreateOptions } from "./wire/create-schema.ts";
export type { SandboxEvent } from "./wire/event-schema.ts";
export { SANDBOX_STATES } from "./wire/sandbox-schema.ts";
export type { SandboxInfo } from "./wire/sandbox-schema.ts";

/**
 * All sandboxes of a home, seen by one principal at a time. An id of another owner, or of another project for a principal that sees its
 * own alone, answers exactly as an unknown one.
 * Two implementations: on `$BELLJAR_HOME`, and over HTTP against a server.
 */
export interface Sandboxes {
  readonly snapshots: Snapshots;
  /** `template` may also be the id or the name of a snapshot. The sandbox then begins with its files. */
  create(principal: Principal, options: CreateOptions, signal: AbortSignal): Promise<CreatedSandbox>;
  /**
   * Rejects with `SANDBOX_NOT_FOUND`, or `SANDBOX_ENDED` with the reason for one that is kept as a tombstone. `id` may be its name, or the
   * beginning of its id. Rejects with `ARGUMENTS_INVALID` if that is the beginning of several.
   */
  get(principal: Principal, id: string): Promise<Sandbox>;
  /** As `get`, and starts a stopped sandbox again. Rejects also as `start` does. */
  getStarted(principal: Principal, id: string, signal: AbortSignal): Promise<StartedSandbox>;
  info(principal: Principal, id: string): Promise<SandboxInfo>;
  /** By the full id and whoever owns it, for who holds a link to one of its ports: the caller must ask for that. Rejects as `get`. */
  getLinked(id: string): Promise<Sandbox>;
  /** The labels of whichever sandbox has the full id, ended ones too, for who must know how it was made: show them to nobody. */
  labelsOf(id: string): Promise<SandboxInfo["metadata"] | undefined>;
  /**
   * The ids of all sandboxes of the home that have not ended, as far as this process knows, whoever owns them: for who holds something made of
   * one of them and must find out of which. The caller must ask for that.
   */
  linkedIds(): Promise<readonly string[]>;
  /**
   * One page of the principal's sandboxes, the newest first. Successive pages show each sandbox at most once, and miss none that exists
   * all the time. Rejects with `ARGUMENTS_INVALID` for a cursor of another list.
   */
  list(principal: Principal, options?: ListOptions): Promise<SandboxPage>;
  /**
   * The events of the principal's own sandboxes, until the signal aborts. They tell what every process of the home does.
   * The first event is `resync`: list the sandboxes after it, and the list with the later events is complete. A reader that falls behind
   * gets another `resync` in place of the events that it missed.
   * `changed` may come without a difference. One event may stand for several changes. A sandbox that ends while it is made may have no
   * event. Reading events does not keep the process alive.
   * Rejects with `QUOTA_EXCEEDED` for too many readers, and with `FILE_IO` or `SERVER_UNREACHABLE` if the events cannot go on.
   */
  events(principal: Principal, signal: AbortSignal): AsyncIterable<SandboxEvent>;
  /**
   * The principal's default sandbox of that name, made on first use, started again when it was stopped, and made anew when it has ended or
   * its files are lost. Its deadline moves with each call.
   */
  default(principal: Principal, name: string, options: DefaultOptions, signal: AbortSignal): Promise<DefaultSandbox>;
}

export interface DefaultOptions extends CreateOptions {
  /** On `$BELLJAR_HOME`. A server has a command line of its own. */
  readonly wishes?: DefaultWishes;
}

/** What the command line says. This process applies it once to each default sandbox that it did not make; new ones are made so anyway. */
export interface DefaultWishes {
  readonly network?: NetworkPolicy;
  /** The lifetime, from now, and of each later extension. */
  readonly timeoutMs?: number;
  readonly limits?: Limits;
}

/** How a run of a sandbox ended whose files were kept. */
export interface LastStop extends Pick<SandboxEnd, "reason" | "at"> {
  /** It was stopped to be put back to this checkpoint, or snapshot of it. */
  readonly point?: string | undefined;
}

export interface StartedSandbox {
  readonly sandbox: Sandbox;
  /** It was stopped, so, and this question started it again. */
  readonly stopped?: LastStop;
}

export interface DefaultSandbox {
  readonly sandbox: Sandbox;
  /** By this question. */
  readonly created: boolean;
  /** It was stopped, and this question started it again. */
  readonly started?: true;
  /** Id of the default sandbox that it was made in place of. Absent if there was none, and if a server made it. */
  readonly earlier?: string;
  /** A sentence for each of the `wishes` that cannot be applied to a sandbox that lives, with what to do. */
  readonly unmet?: readonly string[];
}

/** Where the home and the workspace are inside, and where commands start and relative paths begin. */
export type InsideFolders = Pick<Inside, "home" | "workspace" | "cwd">;

export interface SandboxPorts {
  readonly listening: readonly ListeningPort[];
  readonly links: readonly PortLink[];
}

/**
 * A sandbox of the caller that has not ended. While it is stopped, calls that need a run reject with `SANDBOX_STOPPED`. The object does
 * not keep the sandbox alive.
 */
export interface Sandbox extends WorkspaceBase {
  readonly id: string;
  /** Id of the principal that it belongs to. */
  readonly owner: string;
  /** Its folders. */
  readonly inside: InsideFolders;
  readonly guest: Guest;
  readonly timeLine: TimeLine;
  /** Settles once its present run has ended; never rejects. Absent while it is stopped, and where only the server knows. */
  readonly ended?: Promise<unknown>;
  /** Which run this is of its runs. Absent as `ended`. */
  readonly generation?: number;
  /** Whether it is paused now, for whatever reason. Asks nobody, and wakes nobody. Absent as `ended`. */
  isPaused?(): boolean;
  /** How the run before this one ended; undefined for a first run. Absent as `ended`. */
  lastStop?(): Promise<LastStop | undefined>;
  /** One raw stream of the guest protocol; the caller destroys it. */
  connect(signal: AbortSignal): Promise<Duplex>;
  info(): Promise<SandboxInfo>;
  usage(): Promise<Usage>;
  /**
   * How many of its processes the kernel has killed for lack of memory, as of this process's last question. Asks if it never did. Undefined
   * if nobody counts them on this host.
   */
  knownOomKills(): Promise<number | undefined>;
  /**
   * Changes what it may reach, now and for connections that live; kept with the sandbox. With `capped`, for a caller on whom a model
   * has a hand, rejects with `FORBIDDEN` what goes beyond the policy that a person gave it last.
   */
  setNetwork(policy: NetworkPolicy, options?: { readonly capped?: boolean }): Promise<void>;
  /**
   * Collects what the network refuses to its programs, from now on and until it is disposed. If the network is closed, it is answered from
   * now on: programs that try it are refused at once.
   */
  watchRefusals(): Promise<RefusalWatch>;
  /** Below each command's own variables: the template's, the network's, and those that it was made with. */
  environment(): Promise<Readonly<Record<string, string>>>;
  /** What its programs listen on, and the links that were registered. */
  ports(): Promise<SandboxPorts>;
  /** The links alone, without asking anybody inside: every request to a port looks here. */
  portLinks(): Promise<readonly PortLink[]>;
  /** Makes a link to one port, or gives the one that is there; kept with the sandbox. */
  registerPort(port: number, access: PortLink["access"], expiresAt?: Date): Promise<PortLink>;
  /** Removes the link to one port, for every process and request from now on. Resolves with whether there was one. */
  removePort(port: number): Promise<boolean>;
  /** Moves the deadline to this time from now. `action` is what happens then. Without it the earlier action stays; at first it is `onDeadline`. */
  extend(timeoutMs: number, action?: DeadlineAction): Promise<void>;
  /**
   * Freezes its programs, and gives memory of theirs back to the host as far as the kernel can take it. What waits on them waits until it is
   * woken, by `resume` or by the next call. Rejects with `NOT_SUPPORTED` where nothing can be frozen.
   */
  pause(): Promise<void>;
  /** Wakes a paused one. Changes nothing if it runs. Calls do so by themselves. */
  resume(): Promise<void>;
  /**
   * Ends its processes and keeps its files. Changes nothing if it is stopped already. Rejects with `NOT_SUPPORTED` if its files
   * cannot be kept, and with `SANDBOX_ENDED` if somebody killed it meanwhile. Its files are on the disk when this resolves, so no power cut
   * loses them, unless they lie in memory. Without the disk it rejects with `RUNTIME_FAILED`, and the sandbox is stopped all the same.
   */
  stop(): Promise<void>;
  /**
   * Starts a stopped sandbox with its files, its network and its links, for its full lifetime. Changes nothing if it runs. If several
   * processes start it at once, one does. The others may be rejected with `RUNTIME_UNAVAILABLE` until it runs. Rejects with
   * `SANDBOX_FILES_LOST` if its files lay in memory and are gone. A sandbox that a deadline stopped, or that ended unasked, is kept for
   * `sandbox.keep` alone.
   */
  start(signal: AbortSignal): Promise<Sandbox>;
  /**
   * Deletes the sandbox. Resolves when its processes are gone and its tombstone is written. Its files on disk are removed after that.
   * Rejects with `RUNTIME_UNAVAILABLE` while another process starts it.
   */
  kill(): Promise<void>;
}

/**
 * The time line of one sandbox: checkpoints that it can be put back to. Points are named by the ids of checkpoints, and of snapshots of this
 * sandbox. All that takes a point rejects with `CHECKPOINT_NOT_FOUND`, and with `NOT_SUPPORTED` by runtimes that freeze nothing.
 */
export interface TimeLine {
  list(): Promise<wire.TimeLineInfo>;
  /** Freezes what the sandbox has written until now. A power cut may lose a checkpoint, and leaves none half there. */
  checkpoint(options: wire.CheckpointOptions, signal: AbortSignal): Promise<wire.Checkpoint>;
  /**
   * For whoever runs a tool that may write, before it does: takes a checkpoint if this sandbox has them before each call. A checkpoint that
   * cannot be taken is no failure: resolves with a sentence about it, once until one can be taken again. Rejects only when the signal aborts.
   * Absent where tools are run by a server.
   */
  beforeCall?(tool: string, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Puts the sandbox back: its files are those of the point, its id and links stay, and all of its processes end. Open streams end with
   * `SANDBOX_ROLLED_BACK`. Afterwards it runs, also if it was stopped.
   */
  rollback(point: string, signal: AbortSignal): Promise<RollbackResult>;
  remove(checkpoint: string): Promise<void>;
  /** What changed from one point to another, or to now. */
  diff(points: wire.ComparedPoints, signal: AbortSignal): Promise<wire.PointDiff>;
  /** Gives paths, and what is below them, the content that they had at a point. Other paths stay as they are. */
  undo(to: string, paths: readonly string[], signal: AbortSignal): Promise<wire.ChangedPaths>;
  /**
   * Brings what another sandbox has changed since both had the same files into this one: a fork's changes into the sandbox that it was forked
   * from, or into a sister. Texts that both changed are merged line by line. What cannot be merged is left alone and named.
   */
  merge(from: Sandbox, paths: readonly string[] | undefined, signal: AbortSignal): Promise<wire.ChangedPaths>;
}

export interface RollbackResult extends wire.RollbackInfo {
  readonly sandbox: Sandbox;
}

/**
 * The snapshots of a home, seen by one principal at a time: frozen files of sandboxes, which outlive them. A snapshot of another owner, or of
 * another project for a principal that sees its own alone, answers exactly as an unknown one. Wherever a snapshot's id is asked, its name may stand.
 */
export interface Snapshots {
  /**
   * Freezes what a sandbox has written, while its programs run or between two runs. It is on disk before the answer. Rejects with
   * `SANDBOX_NOT_FOUND`, `SANDBOX_ENDED`, `SNAPSHOT_NAME_TAKEN`, `DISK_FULL`, `QUOTA_EXCEEDED`, and `NOT_SUPPORTED` by runtimes that freeze nothing.
   */
  create(principal: Principal, sandbox: string, options: wire.SnapshotOptions, signal: AbortSignal): Promise<wire.SnapshotInfo>;
  /** The newest first; `sandbox`: those of one sandbox, by its full id. */
  list(principal: Principal, options?: { readonly sandbox?: string | undefined }): Promise<readonly wire.SnapshotInfo[]>;
  /** Rejects with `SNAPSHOT_NOT_FOUND`. */
  info(principal: Principal, id: string): Promise<wire.SnapshotInfo>;
  /** Sandboxes that were made from it keep what they have of it. Rejects with `SNAPSHOT_NOT_FOUND`. */
  remove(principal: Principal, id: string): Promise<void>;
  /**
   * Makes sandboxes from a snapshot, or from a sandbox as it is now, whose programs go on. The options of the original hold where these
   * say nothing; name, network, secrets and links are not copied. All are made, or none. Rejects as `create` of both does.
   */
  fork(principal: Principal, from: ForkSource, options: ForkOptions, signal: AbortSignal): Promise<Forks>;
}

export interface CreatedSandbox extends Sandbox {
  /** As of forks. Absent if it began with no snapshot, or a hidden one. */
  readonly lost?: readonly string[];
}

/** The sandboxes that were made. */
export interface Forks extends ReadonlyArray<Sandbox> {
  /**
   * A sentence for each thing that is not as it was when the state was taken, such as a workspace or a `/usr` that has changed on the host, and
   * for what was copied that somebody else may notice: the cookies of a browser.
   */
  readonly lost: readonly string[];
}

export type ForkSource = { readonly snapshot: string } | { readonly sandbox: string };

export interface ForkOptions extends Omit<CreateOptions, "template" | "runtime" | "workspace" | "ephemeral"> {
  /** Default 1, at most 100. */
  readonly count?: number;
}

export interface RefusalWatch extends Disposable {
  /**
   * A few lines for a model or a person: the places, the rules that are missing, how to ask for them. Empty if nothing was refused. `remedy`
   * says how, in the place of the CLI's way; a server has no other.
   */
  tell(remedy?: Remedy): Promise<readonly string[]>;
}

export interface ListFilter {
  readonly state?: readonly SandboxState[] | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

export interface ListOptions {
  readonly filter?: ListFilter;
  /** Where the page before this one ended. */
  readonly cursor?: string | undefined;
  /** The maximum number of sandboxes on the page. Default and upper limit: the configuration's `listMax`. */
  readonly limit?: number | undefined;
}

export interface SandboxPage {
  readonly sandboxes: readonly SandboxInfo[];
  /** Absent on the last page. */
  readonly nextCursor?: string | undefined;
}

export type SandboxState = (typeof SANDBOX_STATES)[number];
/** Those of a sandbox that has not ended. */
export const LIVE_STATES = ["running", "paused", "unresponsive", "stopped"] as const satisfies readonly SandboxState[];
