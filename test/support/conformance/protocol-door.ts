import type { ToolResult } from "../../../src/catalog/tool.ts";
import { textResult } from "../../../src/catalog/tool-result.ts";
import type { InputRequired } from "../../../src/mcp/server/client-channel.ts";
import type { ToolDoor } from "../../../src/mcp/server/tool-door.ts";

/** A tool that speaks the protocol itself. */
export interface ProtocolTool {
  readonly name: string;
  readonly inputSchema?: object;
  run(args: Readonly<Record<string, unknown>>, call: Parameters<ToolDoor["call"]>[3]): ToolResult | InputRequired;
}

/** The catalog, and these tools beside it, on one page. */
export function besideCatalog(catalog: ToolDoor, tools: readonly ProtocolTool[]): ToolDoor {
  const described = tools.map(({ name, inputSchema = { type: "object" } }) => ({ name, description: `Fixture ${name}`, inputSchema }));
  return {
    onChange: (listener) => catalog.onChange(listener),
    listPage(principal, cursor) {
      const shown = JSON.parse(catalog.listPage(principal, cursor).bytes.toString()) as object[];
      return { bytes: Buffer.from(JSON.stringify([...shown, ...described])) };
    },
    async call(principal, name, args, call) {
      const tool = tools.find((one) => one.name === name);
      return tool ? tool.run(args as Record<string, unknown>, call) : catalog.call(principal, name, args, call);
    },
  };
}

export function text(value: string): ToolResult {
  return textResult(value);
}
