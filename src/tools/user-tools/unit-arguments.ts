import * as z from "zod";
import { jsonObject, TESTS_MAX, testSchema, unitSpecSchema } from "../../dynamic/store/stored-unit.ts";

const { language, code, requirements, network, secrets, reuse } = unitSpecSchema.shape;

export const unitName = z.string().min(1).max(200).describe("Name of the unit, as tool_list shows it");

/** As everywhere else, but of an object alone: vendors' readers of schemas refuse a field that has no type. */
const expect = testSchema.shape.expect.extend({ structured: jsonObject.optional() });

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
  tests: z
    .array(testSchema.extend({ expect }))
    .max(TESTS_MAX)
    .optional()
    .describe("They run before a version goes live. One that fails blocks it"),
};
