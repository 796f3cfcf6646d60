import type { Tool, ToolDescription } from "./tool.ts";

export function describeTool(tool: Tool): ToolDescription {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.input.schema,
    ...(tool.output && { outputSchema: tool.output.schema }),
    annotations: { title: tool.title, ...tool.annotations },
  };
}
