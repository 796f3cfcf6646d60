import * as z from "zod";
import { dateField } from "../../sandbox/wire/fields.ts";

const state = z.enum(["building", "ready", "failed"]);

/** A build that goes on by itself, as every answer shows it. */
export const buildSchema = z.object({
  id: z
    .string()
    .regex(/^[a-z0-9]{20}$/)
    .describe("Of the template too, once it is made"),
  name: z.string().min(1).describe("Of the template"),
  owner: z.string().min(1).describe("Id of the principal that it belongs to"),
  state: state.describe("`failed` too, if the server that built it is gone"),
  startedAt: dateField,
  endedAt: dateField.optional(),
  error: z
    .object({ code: z.string().min(1), message: z.string() })
    .optional()
    .describe("Why it failed"),
});

export type BuildInfo = Readonly<z.output<typeof buildSchema>>;

export const buildLogSchema = z.object({
  text: z.string(),
  nextOffset: z.number().int().nonnegative().describe("Where the next part begins"),
  state: state.describe("If it is not `building` and the text is empty, the log is at its end"),
});

/** A part of a build's log. */
export type BuildLogPage = Readonly<z.output<typeof buildLogSchema>>;
