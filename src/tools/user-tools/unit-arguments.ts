import * as z from "zod";
import { unitSpecSchema } from "../../dynamic/store/stored-unit.ts";

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
