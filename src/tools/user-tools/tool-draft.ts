import * as z from "zod";
import { defineDataTool, type Tool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { SpecChanges } from "../../dynamic/spec-changes.ts";
import type { UnitLife } from "../../dynamic/unit-life.ts";
import type { UnitSpec } from "../../dynamic/unit.ts";
import { shownParts, ShownUnit, toShownParts, toShownUnit } from "./shown-unit.ts";
import { specArguments, toSpec, unitName } from "./unit-arguments.ts";

const Input = z.strictObject({
  name: unitName
    .optional()
    .describe(
      "Default: the name of its first tool. One that is there gets a new version, which keeps what you do not give; [] and {} clear",
    ),
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
    notForCode: true,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    input: Input,
    output: ShownUnit.extend(shownParts),
    async run({ principal, signal }, { name, ...given }) {
      const tools = await life();
      const spec = toSpec(given);
      const isKnown = name !== undefined && (await isThere(tools, principal, name));
      const unit = isKnown
        ? await tools.update(principal, { name, changes: toChanges(spec) }, signal)
        : await tools.add(principal, { name, spec }, signal);
      const drafted = await tools.get(principal, unit.name, unit.newest);
      return dataResult({ ...toShownUnit(unit), ...toShownParts(drafted) });
    },
  });
}

/** Limits are changed one by one: of none at all, all are cleared. */
function toChanges({ limits, ...spec }: UnitSpec): SpecChanges {
  return { ...spec, ...(limits && { limits: Object.keys(limits).length > 0 ? limits : null }) };
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
