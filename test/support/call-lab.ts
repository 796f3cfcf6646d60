import * as z from "zod";
import { createCatalog } from "../../src/catalog/catalog.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import { defineTool, type Tool, type ToolResult } from "../../src/catalog/tool.ts";
import { textResult } from "../../src/catalog/tool-result.ts";
import { LOCAL, type Principal, type Sandboxes } from "../../src/sandbox/sandbox.ts";
import { shell } from "./state-home.ts";

/** Calls a tool through the door: a command in a sandbox. Gives the text of the result, with what goes before it. */
export type CallCommand = (
  id: string,
  command: string,
  options?: { readonly tool?: CommandTool; readonly principal?: Principal; readonly signal?: AbortSignal },
) => Promise<string>;

/** `write_file` may write, `read_file` is Belljar's own and says that it does not, and `foreign_read` is somebody else's and says so too. */
type CommandTool = "write_file" | "read_file" | "foreign_read";

export function commandDoor(sandboxes: Sandboxes): CallCommand {
  const tools = [
    commandTool({ name: "write_file", isReadOnly: false }),
    commandTool({ name: "read_file", isReadOnly: true }),
    { ...commandTool({ name: "foreign_read", isReadOnly: true }), origin: "proxied" as const },
  ];
  const catalog = createCatalog({
    sources: [fixedTools(tools)],
    sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  return async (id, command, { tool = "write_file", principal = LOCAL, ...options } = {}) =>
    textOf(await catalog.call(principal, tool, { id, command }, { signal: new AbortController().signal, ...options }));
}

function commandTool({ name, isReadOnly }: { readonly name: CommandTool; readonly isReadOnly: boolean }): Tool {
  return defineTool({
    name,
    title: name,
    description: "Runs a command",
    toolset: "test",
    annotations: { readOnlyHint: isReadOnly, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    input: z.strictObject({ id: z.string(), command: z.string() }),
    run: async (context, { id, command }) => textResult({}, await shell(await context.sandbox(id), command)),
  });
}

function textOf({ content }: ToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}
