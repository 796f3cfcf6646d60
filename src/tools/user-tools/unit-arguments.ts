import * as z from "zod";
import type { UnitSpec } from "../../dynamic/unit.ts";
import { jsonObject, TESTS_MAX, testSchema, unitSpecSchema } from "../../dynamic/store/stored-unit.ts";

const { language, code, requirements, sdist, network, secrets, calls, reuse } = unitSpecSchema.shape;

export const unitName = z.string().min(1).max(200).describe("Name of the unit, as tool_list shows it");

/** As everywhere else, but of an object alone: vendors' readers of schemas refuse a field that has no type. */
const expect = testSchema.shape.expect.extend({ structured: jsonObject.optional() });

const count = z.number().int().min(1).max(1_000_000_000).optional();
/** No `exclusiveMinimum`: vendors' readers of schemas refuse it. */
const limits = z
  .strictObject({ memory_mb: count, cpus: z.number().min(0.01).max(4_096).optional(), pids: count, disk_mb: count, open_files: count })
  .optional()
  .describe("Of the sandboxes that its calls run in");

/** What a model may say of a unit. */
export const specArguments = {
  language: language.describe("Of the code"),
  code: code.describe(
    "Python: functions with @mcp.tool(description=...) and annotated parameters. JavaScript and TypeScript: export defineTool({description, input, run})",
  ),
  requirements,
  sdist,
  network,
  secrets,
  limits,
  calls,
  reuse,
  timeout_ms: z.number().int().min(1).max(86_400_000).optional().describe("Of one call"),
  tests: z
    .array(testSchema.extend({ expect }))
    .max(TESTS_MAX)
    .optional()
    .describe("They run before a version goes live. One that fails blocks it"),
};

type SpecArguments = z.output<z.ZodObject<typeof specArguments>>;

const MIB = 1_048_576;

/** The spec that the arguments stand for, with what is given alone. */
export function toSpec({ timeout_ms: timeoutMs, limits: named, ...spec }: SpecArguments): UnitSpec {
  const { memory_mb: memory, disk_mb: disk, open_files: openFiles, ...others } = named ?? {};
  const limits = {
    ...others,
    ...(openFiles !== undefined && { openFiles }),
    ...(memory !== undefined && { memoryBytes: memory * MIB }),
    ...(disk !== undefined && { diskBytes: disk * MIB }),
  };
  return { ...spec, ...(named && { limits }), ...(timeoutMs !== undefined && { timeoutMs }) };
}
