import * as z from "zod";
import type { Tool } from "../../catalog/tool.ts";
import { zodSchema } from "../../catalog/tool-schema.ts";

const Input = z.strictObject({
  name: z.string().min(1).max(100).describe("Name of the tool to run"),
  arguments: z.record(z.string(), z.unknown()).optional().describe("Its arguments, as describe_tool shows them; default none"),
});

/** It answers what the tool answers that it calls: text or data. */
export const callTool: Tool<z.output<typeof Input>> = {
  name: "call_tool",
  title: "Call a tool",
  description:
    "Runs any tool that you have, listed or not, and returns what it returns. Find it with search_tools, see its arguments with describe_tool.",
  toolset: "discovery",
  role: "discovery",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: zodSchema(Input),
  delegates: true,
  run: (context, { name, arguments: args = {} }) => context.call(name, args),
};
