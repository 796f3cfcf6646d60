import type { DataResult, TextResult, ToolContent } from "./tool.ts";

/** An answer that is a text or pictures. `value` is the same for programs; without content it is the text itself. */
export function textResult(text: string): TextResult;
export function textResult(value: unknown, content: string | readonly ToolContent[]): TextResult;
export function textResult(value: unknown, content: string | readonly ToolContent[] = String(value)): TextResult {
  return { value, content: typeof content === "string" ? [{ type: "text", text: content }] : content };
}

/** An answer that is data. A model reads it as compact JSON, whether its host shows the content or the structure. */
export function dataResult<const Data extends Readonly<Record<string, unknown>>>(value: Data): DataResult<Data> {
  return { value, content: jsonContent(value), structured: value };
}

export function jsonContent(value: Readonly<Record<string, unknown>>): readonly ToolContent[] {
  return [{ type: "text", text: JSON.stringify(value) }];
}
