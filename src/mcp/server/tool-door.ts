import type { Catalog } from "../../catalog/catalog.ts";
import type { Principal } from "../../sandbox/sandbox.ts";

/** What MCP needs of the catalog. */
export type ToolDoor = Pick<Catalog, "list" | "call" | "onChange">;

/** On whose behalf a connection or a request calls. */
export interface Caller {
  readonly principal: Principal;
  /** The name of the caller's default sandbox. */
  readonly defaultName?: string;
}
