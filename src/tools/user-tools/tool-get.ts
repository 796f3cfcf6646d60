import * as z from "zod";
import { defineDataTool, type Tool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import type { UnitLife } from "../../dynamic/unit-life.ts";
import { shownParts, ShownUnit, toShownParts, toShownUnit } from "./shown-unit.ts";
import { unitName } from "./unit-arguments.ts";

const Output = ShownUnit.extend({
  code: z.string(),
  ...shownParts,
  versions: z.array(z.object({ version: z.number().int(), created_at: z.string(), is_tested: z.boolean() })),
  calls: z.number().int(),
  errors: z.number().int(),
  last_errors: z.array(z.string()),
});

export function createToolGet(life: () => Promise<UnitLife>): Tool {
  return defineDataTool({
    name: "tool_get",
    title: "Show a tool",
    description: "Shows a tool of your user's: its code, schemas, network, versions, how often it was called, and its last errors.",
    toolset: "tools",
    notForCode: true,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({ name: unitName, version: z.number().int().min(1).optional().describe("Default: that callers have") }),
    output: Output,
    async run({ principal }, { name, version }) {
      const unit = await (await life()).get(principal, name, version);
      const versions = unit.versions.map(({ number, createdAt, isTested }) => ({
        version: number,
        created_at: createdAt.toISOString(),
        is_tested: isTested,
      }));
      const { calls, errors } = unit.stats;
      return dataResult({
        ...toShownUnit(unit),
        code: unit.code,
        ...toShownParts(unit),
        versions,
        calls,
        errors,
        last_errors: unit.lastErrors.map((one) => one.message),
      });
    },
  });
}
