import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";

const Input = z.strictObject({ name: z.string().min(1).max(100).describe("Name of the tool, as search_tools gives it") });

const Output = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string(),
  input_schema: z.record(z.string(), z.unknown()).describe("JSON Schema of its arguments"),
  output_schema: z.record(z.string(), z.unknown()).nullable().describe("JSON Schema of its structured result"),
  annotations: z.record(z.string(), z.unknown()),
});

export const describeToolTool = defineDataTool({
  name: "describe_tool",
  title: "Describe a tool",
  description: "Returns what a tool does and the JSON Schema of its arguments, so that you can run it with call_tool.",
  toolset: "discovery",
  role: "discovery",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  listsOrEnds: true,
  input: Input,
  output: Output,
  async run(context, { name }) {
    const { title, description, inputSchema, outputSchema, annotations } = context.tools.describe(name);
    return dataResult({ name, title, description, input_schema: inputSchema, output_schema: outputSchema ?? null, annotations });
  },
});
