import * as z from "zod";
import { unitSpecSchema } from "../../dynamic/store/stored-unit.ts";
import type { UnitSpec } from "../../dynamic/unit.ts";

const { language, code, requirements, network, secrets, reuse, tests } = unitSpecSchema.shape;

export const unitName = z.string().min(1).max(200).describe("Name of the unit, as tool_list shows it");

/** What a model may say of a unit. */
export const specArguments = {
  language: language.describe("Of the code"),
  code: code.describe(
    "Python: functions with @mcp.tool(description=...) and annotated parameters. JavaScript and TypeScript: export defineTool({description, input, run})",
  ),
  requirements,
  network,
  secrets,
  reuse,
  tests,
};

type SpecArguments = { readonly [Name in keyof typeof specArguments]?: z.output<(typeof specArguments)[Name]> };

/** Without the fields that are absent. */
export function toSpec(args: SpecArguments & Pick<UnitSpec, "language" | "code">): UnitSpec {
  const names = Object.keys(specArguments) as (keyof SpecArguments)[];
  return Object.fromEntries(names.flatMap((name) => (args[name] === undefined ? [] : [[name, args[name]]]))) as unknown as UnitSpec;
}
