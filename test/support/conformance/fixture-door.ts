import type { ToolResult } from "../../../src/catalog/tool.ts";
import { textResult } from "../../../src/catalog/tool-result.ts";
import { BelljarError } from "../../../src/errors.ts";
import type { InputRequired } from "../../../src/mcp/server/client-channel.ts";
import type { ToolDoor } from "../../../src/mcp/server/tool-door.ts";

export type FixtureCall = Parameters<ToolDoor["call"]>[3];
export type FixtureResult = ToolResult | InputRequired;

/** A tool that the suite calls by its name. */
export interface FixtureTool {
  readonly name: string;
  readonly inputSchema?: object;
  run(args: Readonly<Record<string, unknown>>, call: FixtureCall): Promise<FixtureResult> | FixtureResult;
}

/** The door of the fixtures, and how they tell of a change. */
export interface FixtureDoor extends ToolDoor {
  changed(): void;
}

export function createFixtureDoor(tools: readonly FixtureTool[]): FixtureDoor {
  const listeners = new Set<() => void>();
  const described = tools.map(({ name, inputSchema = { type: "object" } }) => ({ name, description: `Fixture ${name}`, inputSchema }));
  const bytes = Buffer.from(JSON.stringify(described));
  return {
    listPage: () => ({ bytes }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    changed: () => listeners.forEach((listener) => listener()),
    async call(_principal, name, args, call) {
      const tool = tools.find((one) => one.name === name);
      if (!tool) throw new BelljarError("TOOL_NOT_FOUND", `No tool "${name}"`);
      return tool.run(args as Record<string, unknown>, call);
    },
  };
}

export function text(value: string): ToolResult {
  return textResult(value);
}
