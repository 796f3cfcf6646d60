import type { ToolContent, ToolResult } from "./tool.ts";

/** An answer that is data: its value is its structure too, and the content, or the one text, says all of it. */
export function dataResult(value: Readonly<Record<string, unknown>>, content: string | readonly ToolContent[]): ToolResult {
  return { value, content: typeof content === "string" ? [{ type: "text", text: content }] : content, structured: value };
}

/** An answer that is a text and nothing else. */
export function textResult(text: string): ToolResult {
  return { value: text, content: [{ type: "text", text }] };
}
