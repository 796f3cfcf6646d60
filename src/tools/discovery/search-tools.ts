import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";

const DEFAULT_LIMIT = 10;

const Input = z.strictObject({
  query: z.string().max(500).describe('Words that say what you want to do, as "commit changes git". Empty: the first tools'),
  limit: z.number().int().min(1).max(50).optional().describe(`Most tools to return; default ${DEFAULT_LIMIT}`),
});

const Output = z.object({
  tools: z.array(z.object({ name: z.string(), title: z.string(), summary: z.string(), toolset: z.string() })),
  total: z.number().int().describe("How many match in all"),
});

export const searchTools = defineDataTool({
  name: "search_tools",
  title: "Search tools",
  description: [
    "Finds tools by words, the best first. Your list does not show every tool that you have: look here before you give a task up.",
    "Then see a tool's arguments with describe_tool, and run it with call_tool.",
  ].join("\n"),
  toolset: "discovery",
  role: "discovery",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  listsOrEnds: true,
  input: Input,
  output: Output,
  async run(context, { query, limit = DEFAULT_LIMIT }) {
    return dataResult({ ...(await context.tools.search(query, limit)) });
  },
});
