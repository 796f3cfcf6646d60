import * as z from "zod";
import type { Tool } from "./tool.ts";

/** A tool as callers see it. The schemas are JSON Schema 2020-12. */
export interface ToolDescription {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations: Tool["annotations"] & { readonly title: string };
}

export type JsonSchema = { readonly type: "object" } & Readonly<Record<string, unknown>>;

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
