import type { BelljarError } from "../../errors.ts";
import type { CreateOptions } from "../../sandbox/sandbox.ts";
import type { ServerTarget } from "../client/config/resolve-server.ts";
import type { HubSettings } from "./hub-settings.ts";

/** A server that the hub may start. */
export interface HubServer {
  readonly name: string;
  readonly target: ServerTarget;
  readonly settings: HubSettings;
}

/** One that it cannot start, and why. */
export interface UnusableServer {
  readonly name: string;
  readonly problem: BelljarError;
}

/** A server as its owner sees it. */
export interface McpServerInfo {
  readonly name: string;
  readonly state: "starting" | "ready" | "failed" | "stopped";
  /** Absent for an entry that cannot be used, as all that follows. */
  readonly transport?: "stdio" | "http";
  readonly isolation?: "sandbox" | "none";
  /** Of its sandbox. */
  readonly network?: NonNullable<CreateOptions["network"]>;
  /** Rules that would have allowed what its network refused to it in this process. */
  readonly refused?: readonly string[];
  /** The names that callers see. */
  readonly tools: readonly string[];
  /** How many run now. */
  readonly instances: number;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The servers of one configuration. */
export interface HubFile {
  readonly servers: readonly HubServer[];
  readonly unusable: readonly UnusableServer[];
}
