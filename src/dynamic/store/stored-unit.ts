import * as z from "zod";
import { packageLockSchema } from "../../packages/package-lock.ts";
import { createOptionsSchema } from "../../sandbox/wire/create-schema.ts";
import { dateField } from "../../sandbox/wire/fields.ts";
import { TOOL_LANGUAGES, type ReadTool, type ToolTest, type UnitHead, type UnitSpec, type UnitVersion } from "../unit.ts";
import { isShallow, JSON_DEPTH_MAX } from "./json-depth.ts";

export const CODE_BYTES_MAX = 2 ** 20;
const REQUIREMENTS_MAX = 100;
const REQUIREMENT_CHARACTERS_MAX = 200;
export const TESTS_MAX = 50;
const CALLS_MAX = 50;
const TEXT_CHARACTERS_MAX = 2 ** 16;
const TIMEOUT_MS_MAX = 24 * 60 * 60 * 1_000;
const TOOLS_MAX = 100;
const VERSIONS_MAX = 10_000;

const json = z.unknown().refine(isShallow, `must have at most ${JSON_DEPTH_MAX} levels`);
export const jsonObject = z.record(z.string(), z.unknown()).refine(isShallow, `must have at most ${JSON_DEPTH_MAX} levels`);
const text = z.string().max(TEXT_CHARACTERS_MAX);
const { network, secrets, limits } = createOptionsSchema.shape;

export const testSchema = z.strictObject({
  tool: z.string().min(1).max(200).optional().describe("Absent: the unit's only tool"),
  arguments: jsonObject,
  expect: z
    .strictObject({
      text: text.optional().describe("The whole text of the answer"),
      structured: json.optional(),
      error: text.optional().describe("A part of the error's text. Absent: the call must succeed"),
    })
    .describe("What the answer must be. A part that is absent is not looked at"),
}) satisfies z.ZodType<ToolTest>;

/** All of a spec but its code and language: what `tool.json` holds. */
export const manifestSchema = z.strictObject({
  requirements: z
    .array(z.string().min(1).max(REQUIREMENT_CHARACTERS_MAX))
    .max(REQUIREMENTS_MAX)
    .readonly()
    .optional()
    .describe("Packages, beside those that the code names itself"),
  sdist: z
    .boolean()
    .optional()
    .describe("Packages may run code of theirs when they are installed. Default false: wheels alone, and no scripts of npm"),
  network: network.describe("Of the sandboxes that its calls run in. Default `none`"),
  secrets,
  limits: limits.describe("Of the sandboxes that its calls run in"),
  calls: z
    .array(z.string().regex(/^[A-Za-z0-9_-]{1,40}$/))
    .max(CALLS_MAX)
    .readonly()
    .optional()
    .describe("Names of tools that its code calls, with its caller's rights. Default: none"),
  reuse: z
    .enum(["call", "session"])
    .optional()
    .describe("call: each call has a fresh sandbox. session: one for each caller, client and version. Default: call"),
  timeoutMs: z.number().int().positive().max(TIMEOUT_MS_MAX).optional().describe("Of one call. Default: the configuration's"),
  tests: z.array(testSchema).max(TESTS_MAX).readonly().optional().describe("They run before a version goes live. One that fails blocks it"),
});

export const codeSchema = z
  .string()
  .min(1, "holds no code")
  .refine((code) => Buffer.byteLength(code) <= CODE_BYTES_MAX, `has over ${CODE_BYTES_MAX} bytes`);

const specSchema = manifestSchema.extend({ language: z.enum(TOOL_LANGUAGES), code: codeSchema }) satisfies z.ZodType<UnitSpec>;

/** The name of a unit, as its author gives it. */
export const unitNameSchema = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[^\p{Cc}\p{Cs}/\\]+$/u, "must have no slash and no control character")
  .refine((name) => !/^\.+$/.test(name), "must have more than dots");

/** The body of a request that adds or changes a unit. */
export const unitSpecSchema = specSchema.extend({ name: unitNameSchema.optional() });

const readTool = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,40}$/),
  function: z.string().min(1),
  title: z.string().optional(),
  description: z.string(),
  inputSchema: jsonObject,
  outputSchema: jsonObject.optional(),
  annotations: z
    .strictObject({
      readOnlyHint: z.boolean().optional(),
      destructiveHint: z.boolean().optional(),
      idempotentHint: z.boolean().optional(),
      openWorldHint: z.boolean().optional(),
    })
    .optional(),
}) satisfies z.ZodType<ReadTool>;

const number = z.number().int().positive().max(Number.MAX_SAFE_INTEGER);

/** A version as a store keeps it; `z.encode` gives its JSON. */
export const unitVersionSchema = z.strictObject({
  number,
  spec: specSchema,
  tools: z.array(readTool).max(TOOLS_MAX).readonly(),
  lock: packageLockSchema.optional(),
  createdAt: dateField,
}) satisfies z.ZodType<UnitVersion>;

/** A version as a list of them shows it. */
export const shownVersionSchema = z.strictObject({ number, createdAt: dateField, isTested: z.boolean(), wasLive: z.boolean().optional() });

export const versionHeadSchema = shownVersionSchema.extend({ packages: packageLockSchema.pick({ wish: true, key: true }).optional() });

/** A head as a store keeps it; `z.encode` gives its JSON. */
export const unitHeadSchema = z.strictObject({
  owner: z.string().min(1).max(1_000),
  name: z.string().min(1).max(1_000),
  revision: number,
  versions: z.array(versionHeadSchema).max(VERSIONS_MAX).readonly(),
  live: number.optional(),
  isDisabled: z.boolean(),
  isShared: z.boolean(),
}) satisfies z.ZodType<UnitHead>;
