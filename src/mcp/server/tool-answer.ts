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

/** The same with what another server's answer has beside. Clients before 2026-07-28 take no structure but an object. */
export function toMcpAnswer(result: ToolResult, isModern: boolean): Readonly<Record<string, unknown>> {
  const { structuredContent, ...beside } = result.beside ?? {};
  return { ...beside, ...(isModern && structuredContent !== undefined && { structuredContent }), ...toAnswer(result) };
}
