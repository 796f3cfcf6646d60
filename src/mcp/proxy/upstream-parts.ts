import type { JsonSchemas } from "../../catalog/json-schemas.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { ListName } from "../client/server-handlers.ts";
import type { PackagePrograms } from "./prepare/package-programs.ts";
import type { HubLinks } from "./relay/hub-links.ts";
import type { ListBudget } from "./relay/list-budget.ts";
import type { HubLogins } from "./relay/upstream-login.ts";
import type { InstanceParts } from "./server-instance.ts";
import type { HubEgress } from "./server-way.ts";
import type { ServerPin } from "./sources/server-pin.ts";

/** What a server of the hub is given. */
export interface UpstreamParts extends InstanceParts {
  readonly programs?: PackagePrograms | undefined;
  readonly schemas: () => Promise<JsonSchemas>;
  readonly idleMs: number;
  /** How many calls a server answers at once, and how many may wait. */
  readonly concurrency: number;
  readonly queue: number;
  /** Of the names that callers see. */
  readonly prefix: string;
  /** How callers write the URIs of a server. */
  readonly links: HubLinks;
  readonly report: (problem: string) => void;
  /** Called after a list has changed. */
  readonly changed: (list: ListName) => void;
  readonly stateChanged: () => void;
  /** How requests to servers over HTTP leave this machine. */
  readonly egress: HubEgress;
  /** The id of whoever owns it. */
  readonly owner: string;
  /** Whose sandboxes its instances run in. Asked at each start, as its rights change. */
  readonly principal: () => Promise<Principal>;
  /** Rejects with `FORBIDDEN` for a caller who may not use it. */
  readonly authorise: (principal: Principal) => Promise<void>;
  readonly pin: ServerPin;
  /** What the lists of all servers of the owner may take. */
  readonly budget: ListBudget;
  /** Absent: nobody logs in to servers over HTTP. */
  readonly logins?: HubLogins;
}
