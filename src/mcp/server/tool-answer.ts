import type { ToolContent, ToolResult } from "../../catalog/tool.ts";

/** A result as MCP has it. */
export interface ToolAnswer {
  readonly content: readonly ToolContent[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

export function toAnswer({ content, structured, isError }: ToolResult): ToolAnswer {
  return { content, ...(structured && { structuredContent: structured }), ...(isError !== undefined && { isError }) };
}
