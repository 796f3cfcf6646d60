import type { Tool, ToolDescription } from "./tool.ts";
import type { JsonSchema } from "./tool-schema.ts";

export function describeTool(tool: Tool): ToolDescription {
  return {
    ...tool.beside,
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.input.schema,
    ...(tool.output && { outputSchema: openToNotes(tool.output.schema) }),
    annotations: { title: tool.title, ...tool.annotations },
  };
}

/** A result may say first what the model must know (`note`), of whatever tool: many hosts show a model the structure alone. */
function openToNotes(output: JsonSchema): JsonSchema {
  const { additionalProperties: _, ...schema } = output;
  return schema;
}
