import type { ToolResult } from "../../catalog/tool.ts";
import type { Principal } from "../../sandbox/sandbox.ts";

/** What MCP needs of the catalog: the one door. */
export interface ToolDoor {
  /** In a stable order. */
  list(principal: Principal): readonly ListedTool[];
  /** Rejects with `TOOL_NOT_FOUND` for an unknown name. Aborting `signal` stops the work; it settles when the work is gone. */
  call(principal: Principal, name: string, args: unknown, options: ToolCallOptions): Promise<ToolResult>;
}

export interface ToolCallOptions {
  readonly signal: AbortSignal;
  /** Absent when the caller did not ask. */
  readonly progress?: (message: string) => void;
  /** The name of the caller's default sandbox. */
  readonly defaultName?: string;
}

/** A tool as `tools/list` shows it. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObjectSchema;
  readonly outputSchema?: JsonObjectSchema;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

export type JsonObjectSchema = { readonly type: "object" } & Readonly<Record<string, unknown>>;

/** On whose behalf a connection or a request calls. */
export interface Caller {
  readonly principal: Principal;
  readonly defaultName?: string;
}
