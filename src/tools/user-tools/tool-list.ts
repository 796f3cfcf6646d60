import * as z from "zod";
import { defineDataTool, type Tool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import type { UnitLife } from "../../dynamic/unit-life.ts";
import { tellProblem } from "../../dynamic/edit-problem.ts";
import { allUnits } from "../../dynamic/unit-pages.ts";
import { ShownUnit, toShownUnit } from "./shown-unit.ts";

const SHOWN_MAX = 200;

const Output = z.object({
  tools: z.array(ShownUnit.omit({ tools: true }).extend({ tools: z.array(z.string()) })),
  total: z.number().int(),
  problems: z.array(z.string()).optional().describe("What somebody has put into the folder of tools and is none"),
});

export function createToolList(life: () => Promise<UnitLife>): Tool {
  return defineDataTool({
    name: "tool_list",
    title: "List your user's tools",
    description:
      "Lists the tools that your user or you have made, drafts and disabled ones too, with their states. tool_get shows one with its code.",
    toolset: "tools",
    notForCode: true,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({}),
    output: Output,
    async run({ principal }) {
      const { tools: units, problems } = await allUnits(await life(), principal);
      const shown = units.slice(0, SHOWN_MAX).map(toShownUnit);
      return dataResult({
        tools: shown.map((unit) => ({ ...unit, tools: unit.tools.map(({ name }) => name) })),
        total: units.length,
        ...(problems.length > 0 && {
          problems: problems.slice(0, SHOWN_MAX).map(({ name, ...problem }) => `${name}: ${tellProblem(problem)}`),
        }),
      });
    },
  });
}
