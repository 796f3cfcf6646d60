import * as z from "zod";
import { SANDBOX_STATES } from "../../sandbox/sandbox.ts";
import { createOptionsSchema } from "../../sandbox/wire/create-schema.ts";
import { deadlineAction } from "../../sandbox/wire/fields.ts";
import { labelsSchema } from "../../sandbox/wire/texts-schema.ts";

const positive = z.number().int().positive().max(Number.MAX_SAFE_INTEGER);

/** `POST /v1/sandboxes`. */
export const createBody = createOptionsSchema;

/** A default sandbox outlives its callers. */
export const defaultBody = createBody.omit({ ephemeral: true, name: true });

export const extendBody = z.strictObject({
  timeoutMs: positive.describe("Lifetime from now, in milliseconds"),
  action: deadlineAction.optional().describe("What happens then. Default: what was set before, at first `onDeadline` of its create"),
});

export const idParams = z.object({
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "must be an id, the beginning of one, or a name"),
});
export const nameParams = z.object({ name: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/) });

const state = z.enum(SANDBOX_STATES);
const many = <Schema extends z.ZodType>(schema: Schema) => z.union([z.array(schema).max(8), schema.transform((one) => [one])]);

/** Which page of a list, for every list that has pages. */
export const pageFields = {
  cursor: z.string().max(1_000).optional().describe("nextCursor of the page before"),
  limit: z
    .string()
    .regex(/^[1-9][0-9]{0,5}$/)
    .transform(Number)
    .optional(),
};

const page = z.looseObject({
  state: many(state).optional(),
  ...pageFields,
  limit: pageFields.limit.describe("The most entries of the page. Default, and never more: the setting listMax"),
});

/** `?state=running&state=paused&metadata.key=value&cursor=C&limit=N`. */
export const listQuery = page.transform(({ state: states, cursor, limit, ...query }, context) => {
  const metadata = labelsSchema.safeParse(metadataOf(query));
  const isKnown = Object.keys(query).every((key) => key.startsWith(METADATA));
  if (metadata.success && isKnown) return { filter: { state: states, metadata: metadata.data }, cursor, limit };
  context.addIssue({ code: "custom", message: `ask with state=${SANDBOX_STATES.join("|")}, metadata.KEY=VALUE, cursor and limit` });
  return z.NEVER;
});

const METADATA = "metadata.";

function metadataOf(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(query).filter(([key]) => key.startsWith(METADATA));
  return Object.fromEntries(entries.map(([key, value]) => [key.slice(METADATA.length), value]));
}
