import type { CallOptions, Catalog } from "../../catalog/catalog.ts";
import type { ToolResult } from "../../catalog/tool.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { ClientChannel, InputRequired } from "./client-channel.ts";

/** What MCP needs of the catalog. */
export interface ToolDoor extends Pick<Catalog, "listPage" | "onChange"> {
  call(
    principal: Principal,
    name: string,
    args: unknown,
    options: CallOptions & { readonly client?: ClientChannel },
  ): Promise<ToolResult | InputRequired>;
}

/** On whose behalf a connection or a request calls. */
export interface Caller {
  readonly principal: Principal;
  /** The name of the caller's default sandbox. */
  readonly defaultName?: string;
}
