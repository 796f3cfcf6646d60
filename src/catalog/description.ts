import * as z from "zod";
import type { JsonSchema, Tool, ToolDescription } from "./tool.ts";

export function describeTool(tool: Tool): ToolDescription {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: toJsonSchema(tool.input, "input"),
    ...(tool.output && { outputSchema: toJsonSchema(tool.output, "output") }),
    annotations: { title: tool.title, ...tool.annotations },
  };
}

/** Without `$schema`: 2020-12 is the protocol's default, and clients whose validator only knows older drafts refuse the word. */
function toJsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: "draft-2020-12" });
  return { ...rest, type: "object" };
}
