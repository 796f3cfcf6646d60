import type { NetworkPolicy } from "../network/policy.ts";
import type { Limits, Workspace } from "../runtime/contract/sandbox-spec.ts";

/** Who calls. `id` is what ownership compares; `name` is for people. */
export interface Principal {
  readonly id: string;
  readonly name: string;
  /** What it is narrowed to; absent: all that the configuration allows. */
  readonly grants?: Grants;
  /** A caller of a server without a token: any user of this machine. A snapshot shows it no folder of the host that its sandbox showed. */
  readonly isAnybody?: true;
  /** The project that it works for. Absent: none, and it sees all of its owner's sandboxes. */
  readonly project?: Project;
}

/** A project of the host, for which an agent works. */
export interface Project {
  /** The folder of the host. The sandboxes that the agent makes belong to it. */
  readonly folder: string;
  /** `own`: it sees the sandboxes of its project and the default sandbox of `defaultName`; `all`: those of other projects too. */
  readonly sees: "own" | "all";
  readonly defaultName?: string;
}

/** Parts of a server that no toolset covers: the caller's secrets, its tool servers, and what the server counts. */
export type Area = "secrets" | "settings" | "metrics";

/** What a token may be used for: E2B's APIs, or everything else that a server has. */
export type TokenSurface = "belljar" | "e2b";

/** What a token's scopes leave of everything. An absent part is not narrowed. */
export interface Grants {
  /** The toolsets whose tools, resources and routes it may use. */
  readonly toolsets?: readonly string[];
  /** What it may use beside them once `toolsets` is set. */
  readonly areas?: readonly Area[];
  /** What it opens. Absent: `belljar` alone. */
  readonly surfaces?: readonly TokenSurface[];
  /** Only tools that change nothing. */
  readonly readOnly?: boolean;
  /** The folders of the host that it may show its sandboxes, with all below them, and the most that these may do there. Absent: none. */
  readonly workspaces?: readonly Workspace[];
  /** The runtimes that its sandboxes may have. Default: the standard one. */
  readonly runtimes?: readonly string[];
  /** The widest network that its sandboxes may have. Absent: `all`, and no place that is not of the public Internet. */
  readonly network?: NetworkPolicy;
  /** The most that one of its sandboxes may have. */
  readonly limits?: Limits;
  readonly quotas?: Quotas;
  /** Whether it may share its templates with everybody. */
  readonly sharesTemplates?: boolean;
  /** Whether it may have its tools go live, disable and remove them. */
  readonly publishesTools?: boolean;
  /** Whether it may share its tools with everybody. */
  readonly sharesTools?: boolean;
  /** Whether those that it shares may use its secrets. */
  readonly sharesToolSecrets?: boolean;
  /** Whether it may add, approve and remove MCP servers of its own. */
  readonly managesServers?: boolean;
  /** The names of the local user's MCP servers that it may use. Absent: none. */
  readonly servers?: readonly string[];
}

/** How much a principal may use; an absent one is not counted. */
export interface Quotas {
  /** Sandboxes that live at once. */
  readonly sandboxes?: number;
  /** Sandboxes that are kept stopped: with so many it can make no other one. A stop itself is never refused. */
  readonly stoppedSandboxes?: number;
  /** Snapshots that it has. */
  readonly snapshots?: number;
  /** Bytes of the files of its templates. Layers that templates share are counted in each. */
  readonly templateBytes?: number;
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
