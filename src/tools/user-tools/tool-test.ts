import * as z from "zod";
import { defineDataTool, type Tool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import type { UnitLife } from "../../dynamic/unit-life.ts";
import { unitName } from "./unit-arguments.ts";

const Output = z.object({
  version: z.number().int(),
  passed: z.boolean(),
  tests: z.array(z.object({ tool: z.string(), problem: z.string().optional().describe("Absent: it has passed") })),
});

export function createToolTest(life: () => Promise<UnitLife>): Tool {
  return defineDataTool({
    name: "tool_test",
    title: "Test a tool",
    description:
      "Runs the tests of the newest version of a tool that you drafted. Until the person has published it, its code reaches no network and no secret.",
    toolset: "tools",
    notForCode: true,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({ name: unitName }),
    output: Output,
    async run({ principal, signal }, { name }) {
      const { unit, tests } = await (await life()).test(principal, name, signal, { isClosed: true });
      const passed = tests.every(({ problem }) => problem === undefined);
      return dataResult({ version: unit.newest, passed, tests: [...tests] });
    },
  });
}
