import * as z from "zod";
import { tellProblem } from "../../dynamic/edit-problem.ts";
import type { UnitDetail, UnitInfo } from "../../dynamic/wire/unit-schema.ts";

export const ShownUnit = z.object({
  name: z.string(),
  state: z.enum(["draft", "tested", "live", "disabled"]),
  version: z.number().int().describe("That callers have, else the newest"),
  newest: z.number().int(),
  language: z.string(),
  tools: z.array(z.object({ name: z.string(), description: z.string(), input_schema: z.record(z.string(), z.unknown()) })),
  is_shared: z.boolean(),
  problem: z.string().optional(),
});

export function toShownUnit({
  name,
  state,
  version,
  newest,
  language,
  tools,
  isShared,
  schema_error,
}: UnitInfo): z.output<typeof ShownUnit> {
  const shown = tools.map((tool) => ({ name: tool.name, description: tool.description, input_schema: tool.inputSchema }));
  return {
    name,
    state,
    version,
    newest,
    language,
    tools: shown,
    is_shared: isShared,
    ...(schema_error && { problem: tellProblem(schema_error) }),
  };
}

/** What a version has beside its code. */
export const shownParts = {
  network: z.string().describe("none, all, or the rules of what its calls reach"),
  secrets: z.array(z.string()),
  requirements: z.array(z.string()).describe("Beside those that the code names"),
  calls_tools: z.array(z.string()).describe("What its code may call"),
  tests: z.number().int(),
};

export function toShownParts(unit: UnitDetail): z.output<z.ZodObject<typeof shownParts>> {
  const { secrets = {}, requirements = [], calls = [], tests = [] } = unit;
  const names = new Set(Object.values(secrets).map(({ secret }) => secret));
  return { network: networkOf(unit), secrets: [...names], requirements: [...requirements], calls_tools: [...calls], tests: tests.length };
}

/** In a person's words. */
export function networkOf({ network = "none" }: UnitDetail): string {
  return typeof network === "string" ? network : network.allow.map((rule) => JSON.stringify(rule)).join(", ");
}
