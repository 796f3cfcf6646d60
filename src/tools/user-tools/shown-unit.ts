import * as z from "zod";
import type { UnitInfo } from "../../dynamic/wire/unit-schema.ts";

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
    ...(schema_error && { problem: schema_error.message }),
  };
}
