import type { CallOptions, Catalog } from "../../catalog/catalog.ts";
import type { ToolResult } from "../../catalog/tool.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { ClientChannel, InputRequired } from "./client-channel.ts";

export type ToolDoorResult = ToolResult | InputRequired;

/** What MCP needs of the catalog. */
export interface ToolDoor extends Pick<Catalog, "listPage" | "onChange"> {
  call(
    principal: Principal,
    name: string,
    args: unknown,
    options: Omit<CallOptions, "client"> & { readonly client?: ClientChannel },
  ): Promise<ToolDoorResult>;
}
