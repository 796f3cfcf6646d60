import type { Duplex } from "node:stream";
import type { NetworkPolicy, SecretUses } from "../network/policy.ts";
import type { ListeningPort, PortLink } from "../network/ports/port-link.ts";
import type { Guest } from "../runtime/guest/guest.ts";
import type { EndReason, Limits, Usage, Workspace } from "../runtime/runtime.ts";

/** What a sandbox's guest and ports say, for the rooms above, which know neither. */
export type { ExecExit, ExecProcess, FileInfo, Guest, GuestFiles, RunOptions } from "../runtime/guest/guest.ts";
export type { PortLink } from "../network/ports/port-link.ts";

/** Who calls. `id` is what ownership compares; `name` is for people. */
export interface Principal {
  readonly id: string;
  readonly name: string;
  /** What it is narrowed to; absent: all that the configuration allows. */
  readonly grants?: Grants;
}

/** Parts of a server that no toolset covers: the caller's secrets, its tool servers, and what the server counts. */
export type Area = "secrets" | "settings" | "metrics";

/** What a token's scopes leave of everything. An absent part is not narrowed. */
export interface Grants {
  /** The toolsets whose tools, resources and routes it may use. */
  readonly toolsets?: readonly string[];
  /** What it may use beside them once `toolsets` is set. */
  readonly areas?: readonly Area[];
  /** Only tools that change nothing. */
  readonly readOnly?: boolean;
  /** The folders of the host that it may show its sandboxes, with all below them, and the most that these may do there. Absent: none. */
  readonly workspaces?: readonly Workspace[];
  /** The widest network that its sandboxes may have. Absent: `all`, and no place that is not of the public Internet. */
  readonly network?: NetworkPolicy;
  /** The most that one of its sandboxes may have. */
  readonly limits?: Limits;
  readonly quotas?: Quotas;
}

/** How much a principal may use; an absent one is not counted. */
export interface Quotas {
  /** Sandboxes that live at once. */
  readonly sandboxes?: number;
  /** Memory of all its live sandboxes together, by their limits. */
  readonly memoryBytes?: number;
  /** CPU time that its live sandboxes have used, together. */
  readonly cpuSeconds?: number;
  readonly callsPerMinute?: number;
  /** Text and data of results. */
  readonly outputBytesPerMinute?: number;
}

/** The user of stdio, of the CLI on its own home, and of HTTP on loopback without a token. */
export const LOCAL: Principal = { id: "local", name: "local" };

/**
 * All sandboxes of a home, seen by one principal at a time. An id of another owner answers exactly as an unknown one.
 * Two implementations: on `$BELLJAR_HOME`, and over HTTP against a server.
 */
export interface Sandboxes {
  create(principal: Principal, options: CreateOptions, signal: AbortSignal): Promise<Sandbox>;
  /** Rejects with `SANDBOX_NOT_FOUND`, or `SANDBOX_ENDED` with the reason for one that is kept as a tombstone. `id` may be a short id. */
  get(principal: Principal, id: string): Promise<Sandbox>;
  info(principal: Principal, id: string): Promise<SandboxInfo>;
  /** By the full id and whoever owns it, for who holds a link to one of its ports: the caller must ask for that. Rejects as `get`. */
  getLinked(id: string): Promise<Sandbox>;
  list(principal: Principal, filter: ListFilter): Promise<readonly SandboxInfo[]>;
  /** The principal's default sandbox of that name, made on first use and made anew when it has ended. Its deadline moves with each call. */
  default(principal: Principal, name: string, options: CreateOptions, signal: AbortSignal): Promise<DefaultSandbox>;
}

export interface DefaultSandbox {
  readonly sandbox: Sandbox;
  /** By this question. */
  readonly created: boolean;
}

export interface SandboxPorts {
  readonly listening: readonly ListeningPort[];
  readonly links: readonly PortLink[];
}

/** A live sandbox of the caller. Holding one keeps nothing alive. */
export interface Sandbox {
  readonly id: string;
  readonly guest: Guest;
  /** Settles once it has ended; never rejects. Absent where only the server knows. */
  readonly ended?: Promise<unknown>;
  /** One raw stream of the guest protocol; the caller destroys it. */
  connect(signal: AbortSignal): Promise<Duplex>;
  info(): Promise<SandboxInfo>;
  usage(): Promise<Usage>;
  /**
   * Changes what it may reach, now and for connections that live; kept with the sandbox. With `capped`, for a caller on whom a model
   * has a hand, rejects with `FORBIDDEN` what goes beyond the policy that a person gave it last.
   */
  setNetwork(policy: NetworkPolicy, options?: { readonly capped?: boolean }): Promise<void>;
  /** Below each command's own variables: the template's, the network's, and those that it was made with. */
  environment(): Promise<Readonly<Record<string, string>>>;
  /** What its programs listen on, and the links that were registered. */
  ports(): Promise<SandboxPorts>;
  /** The links alone, without asking anybody inside: every request to a port looks here. */
  portLinks(): Promise<readonly PortLink[]>;
  /** Makes a link to one port, or gives the one that is there; kept with the sandbox. */
  registerPort(port: number, access: PortLink["access"]): Promise<PortLink>;
  /** So long from now. */
  extend(timeoutMs: number): Promise<void>;
  /** Resolves when its processes are gone and its tombstone is written; what it left on disk goes after that. */
  kill(): Promise<void>;
}

export interface CreateOptions {
  /** Default `base`. */
  readonly template?: string;
  /** What the caller names is required, unless `bestEffort`; the rest comes from the configuration. */
  readonly limits?: Limits;
  readonly bestEffort?: boolean;
  /** Default: the configuration's, which is `none` unless it says otherwise. */
  readonly network?: NetworkPolicy;
  /** The most that `setNetwork` may give it with `capped`. Default: `network`. */
  readonly networkCeiling?: NetworkPolicy;
  /** Variables that hold placeholders for secrets of this owner. Needs a network policy that allows their hosts. */
  readonly secrets?: SecretUses;
  readonly workspace?: Workspace;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Added to the environment of every exec. */
  readonly env?: Readonly<Record<string, string>>;
  /** How long it lives without being extended. */
  readonly timeoutMs?: number;
  /** Dies with the process that made it. */
  readonly ephemeral?: boolean;
  /**
   * Programs inside may filter their own system calls, as browsers do. The filters take from one count of the whole machine, so only
   * a caller without a token may ask for it. Default: the configuration's, which is false.
   */
  readonly nestedFilters?: boolean;
}

export interface ListFilter {
  readonly state?: readonly SandboxState[];
  readonly metadata?: Readonly<Record<string, string>>;
}

/** `unresponsive`: it lives, and its keeper or its guest does not answer in time. It can be killed. */
export const SANDBOX_STATES = ["running", "paused", "unresponsive", "ended"] as const;
export type SandboxState = (typeof SANDBOX_STATES)[number];
/** Those of a sandbox that has not ended. */
export const LIVE_STATES = ["running", "paused", "unresponsive"] as const satisfies readonly SandboxState[];

export interface SandboxInfo {
  readonly id: string;
  readonly shortId: string;
  readonly owner: string;
  readonly state: SandboxState;
  /** Why it is in that state, where that is not plain: who does not answer. */
  readonly stateReason?: string;
  readonly template: string;
  readonly runtime: string;
  readonly createdAt: Date;
  readonly deadline?: Date;
  readonly endedAt?: Date;
  readonly endReason?: EndReason;
  readonly limits: Limits;
  /** Limits that this host does not enforce. */
  readonly unenforced: readonly (keyof Limits)[];
  readonly network: NetworkPolicy;
  /** The most that a tool may give it; absent: `network`. */
  readonly networkCeiling?: NetworkPolicy;
  /** The secrets that it uses, without their values. */
  readonly secrets?: SecretUses;
  readonly workspace?: Workspace;
  /** Its programs may filter their own system calls; absent: they may not. */
  readonly nestedFilters?: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  /** The name of the default sandbox it is, if it is one. */
  readonly defaultName?: string;
}
