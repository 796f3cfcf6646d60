import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";

const Input = z.strictObject({
  name: z.string().min(1).max(100).describe("Name of the tool to run"),
  arguments: z.record(z.string(), z.unknown()).optional().describe("Its arguments, as describe_tool shows them; default none"),
});

export const callTool = defineTool({
  name: "call_tool",
  title: "Call a tool",
  description:
    "Runs any tool that you have, listed or not, and returns what it returns. Find it with search_tools, see its arguments with describe_tool.",
  toolset: "discovery",
  role: "discovery",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  input: Input,
  delegates: true,
  run: (context, { name, arguments: args = {} }) => context.call(name, args),
});
