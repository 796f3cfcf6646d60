import type { BelljarError } from "../../errors.ts";
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

/** The servers of one configuration. */
export interface HubFile {
  readonly servers: readonly HubServer[];
  readonly unusable: readonly UnusableServer[];
}
