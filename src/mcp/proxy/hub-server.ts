import type { BelljarError } from "../../errors.ts";
import type { CreateOptions } from "../../sandbox/sandbox.ts";
import type { ServerTarget } from "../client/config/resolve-server.ts";
import type { HubSettings } from "./hub-settings.ts";
import type { ToldChange } from "./sources/pinned-lists.ts";

/** A server that the hub may start. */
export interface HubServer {
  readonly name: string;
  readonly target: ServerTarget;
  readonly settings: HubSettings;
  /** The named file that its entry stands in. */
  readonly file?: string;
  /** Its entry came over HTTP. */
  readonly isOfNetwork?: true;
}

/** One that it cannot start, and why. */
export interface UnusableServer {
  readonly name: string;
  readonly problem: BelljarError;
}

/** A server as its owner sees it. */
export interface McpServerInfo {
  readonly name: string;
  readonly state: "starting" | "ready" | "failed" | "needs_approval" | "needs_login" | "stopped";
  /** Absent for an entry that cannot be used, as all that follows. */
  readonly transport?: "stdio" | "http";
  readonly isolation?: "sandbox" | "none";
  /** Of its sandbox; of a server over HTTP where requests to it may lead, if its entry says so. */
  readonly network?: NonNullable<CreateOptions["network"]>;
  /** Rules that would have allowed what its network refused to it in this process. */
  readonly refused?: readonly string[];
  /** The names that callers see. */
  readonly tools: readonly string[];
  /** How many run now. */
  readonly instances: number;
  /** How many of its definitions are not as they were approved. */
  readonly changed?: number;
  readonly error?: { readonly code: string; readonly message: string };
}

/** A part of an entry, in words. */
export interface ToldSetting {
  readonly name: string;
  readonly value: string;
}

/** What whoever approves looks at. */
export interface McpServerDetails extends McpServerInfo {
  /** The program with its arguments, or the address. Recognisable secrets are left out. */
  readonly runs?: string;
  readonly mount?: NonNullable<HubSettings["mount"]>;
  /** All else that its entry gives it or confines it to. Values of variables, headers and secrets are left out. */
  readonly settings?: readonly ToldSetting[];
  /** The first changes of its definitions since they were approved. */
  readonly changes: readonly ToldChange[];
  /** Stands for exactly what is shown here; an approval may name it. */
  readonly digest?: string;
}

/** The servers of one configuration. */
export interface HubFile {
  readonly servers: readonly HubServer[];
  readonly unusable: readonly UnusableServer[];
  /** Those that nobody who may has approved yet: nothing of them is started. */
  readonly waiting?: readonly HubServer[];
}
