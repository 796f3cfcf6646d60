import * as z from "zod";
import { namedLimitsSchema } from "../../sandbox/wire/create-schema.ts";
import { dateField } from "../../sandbox/wire/fields.ts";
import { shownVersionSchema, unitSpecSchema } from "../store/stored-unit.ts";
import { TOOL_LANGUAGES } from "../unit.ts";

const jsonSchema = z.record(z.string(), z.unknown());
const count = z.number().int().nonnegative();

const editProblem = z.object({
  file: z.string().optional(),
  line: z.number().int().positive().optional(),
  message: z.string(),
});

const unitFields = {
  name: z.string().min(1).describe("What its owner calls it"),
  version: z.number().int().positive().describe("That callers have. Of one that was never live the newest"),
  newest: z.number().int().positive(),
  state: z.enum(["draft", "tested", "live", "disabled"]).describe("tested: its newest version was never live, and its tests have passed"),
  language: z.enum(TOOL_LANGUAGES),
  isShared: z.boolean().describe("Every caller has its tools"),
  createdAt: dateField.describe("Of the version"),
  tools: z
    .array(
      z.object({
        name: z.string().describe("As callers see it"),
        title: z.string().optional(),
        description: z.string(),
        inputSchema: jsonSchema,
        outputSchema: jsonSchema.optional(),
      }),
    )
    .readonly()
    .describe("Of the version"),
  schema_error: editProblem.optional().describe("Why what its owner has changed in its files is no version"),
  stats: z
    .object({ calls: count, errors: count, averageMs: z.number().nonnegative(), lastCalledAt: dateField.optional(), since: dateField })
    .describe("Of the calls that this server has served since that time, when it started"),
} as const;

/** A unit of tools as every answer shows it. */
export const unitSchema = z.object(unitFields);
export type UnitInfo = Readonly<z.output<typeof unitSchema>>;

/** One page of a list. */
export const unitPageSchema = z.object({
  tools: z.array(unitSchema).readonly(),
  problems: z
    .array(editProblem.extend({ name: z.string() }))
    .readonly()
    .optional()
    .describe("Why what its owner has put into its folder is no tool at all. On the first page"),
  nextCursor: z.string().max(1_000).optional().describe("Ask with it for the next page. Absent on the last one"),
});
export type UnitPage = Readonly<z.output<typeof unitPageSchema>>;

const { name: _name, language: _language, ...specFields } = unitSpecSchema.shape;

/** With what its owner wrote, and how its calls went. */
export const unitDetailSchema = z.object({
  ...unitFields,
  ...specFields,
  versions: z.array(shownVersionSchema).readonly().describe("Oldest first"),
  lastErrors: z
    .array(z.object({ at: dateField, message: z.string() }))
    .readonly()
    .describe("Newest first"),
});
export type UnitDetail = Readonly<z.output<typeof unitDetailSchema>>;

/** What a caller gives. */
export const givenUnitSchema = unitSpecSchema.extend({
  publish: z.boolean().optional().describe("Have it go live at once, if its tests pass. Default false: it is a draft"),
});

const { language, code, limits: _limits, name: _unit, ...clearable } = unitSpecSchema.shape;
const limitChanges = z.strictObject(nullableFields(namedLimitsSchema.shape)).nullable().optional();

/** What a caller changes of a unit: what is absent stays, null clears it. */
export const unitChangesSchema = z.strictObject({
  language: language.optional(),
  code: code.optional(),
  ...nullableFields(clearable),
  limits: limitChanges.describe("Each limit that is not named stays; null clears it, or all"),
  resolvesAgain: z
    .boolean()
    .optional()
    .describe("Install the newest packages that fit its requirements. If they are those that it has, there is no new version"),
  publish: givenUnitSchema.shape.publish,
});

type Nullable<Fields extends Readonly<Record<string, z.ZodType>>> = { [Key in keyof Fields]: z.ZodOptional<z.ZodNullable<Fields[Key]>> };

/** A description is of the field, whether it may be null or not. */
function nullableFields<Fields extends Readonly<Record<string, z.ZodType>>>(fields: Fields): Nullable<Fields> {
  const entries = Object.entries(fields).map(([key, field]) => {
    const changed = field.nullable().optional();
    return [key, field.description === undefined ? changed : changed.describe(field.description)];
  });
  return Object.fromEntries(entries) as Nullable<Fields>;
}

export const testedSchema = z.object({
  unit: unitSchema,
  tests: z.array(z.object({ tool: z.string(), problem: z.string().optional().describe("Absent: it has passed") })).readonly(),
});
export type Tested = Readonly<z.output<typeof testedSchema>>;
