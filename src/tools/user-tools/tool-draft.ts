import * as z from "zod";
import { defineDataTool, type Tool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { UnitLife } from "../../dynamic/unit-life.ts";
import { ShownUnit, toShownUnit } from "./shown-unit.ts";
import { specArguments, unitName } from "./unit-arguments.ts";

const Input = z.strictObject({
  name: unitName.optional().describe("Default: the name of its first tool. One of yours gets a new version"),
  ...specArguments,
});

export function createToolDraft(life: () => Promise<UnitLife>): Tool {
  return defineDataTool({
    name: "tool_draft",
    title: "Draft a tool",
    description: [
      "Keeps code as a tool of your user's, a draft that nobody can call yet. Its schemas are read in a sandbox; what cannot be read is refused with the line.",
      "tool_test runs its tests; tool_publish asks the person, and then it is in every list.",
      'Python: `@mcp.tool(description="...")` above `def forecast(city: Annotated[str, Field(description="...")]) -> str:`; nothing needs to be imported.',
    ].join("\n"),
    toolset: "tools",
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    input: Input,
    output: ShownUnit,
    async run({ principal, signal }, { name, ...spec }) {
      const tools = await life();
      const isKnown = name !== undefined && (await isThere(tools, principal, name));
      const unit = isKnown ? await tools.update(principal, { name, spec }, signal) : await tools.add(principal, { name, spec }, signal);
      return dataResult(toShownUnit(unit));
    },
  });
}

async function isThere(tools: UnitLife, principal: Parameters<UnitLife["get"]>[0], name: string): Promise<boolean> {
  try {
    await tools.get(principal, name);
    return true;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "TOOL_NOT_FOUND") return false;
    throw cause;
  }
}
