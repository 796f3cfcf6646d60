import * as z from "zod";

const LIMIT_MAX = 100;

export const limitField = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, "must be a whole number from 1 on")
  .transform((text) => Math.min(Number(text), LIMIT_MAX))
  .default(LIMIT_MAX);

export const tokenField = z.string().min(1).max(1_000).optional();

/** Pairs that all must be among the metadata. */
export type MetadataFilter = readonly (readonly [key: string, value: string])[];

/**
 * E2B's clients encode each key and value once more than a form does. A filter that is written as a plain form says the same, unless it
 * holds a percent sign.
 */
export const metadataField = z
  .string()
  .max(65_536)
  .transform((text, context): MetadataFilter => {
    try {
      return [...new URLSearchParams(text)].map(([key, value]) => [decodeURIComponent(key), decodeURIComponent(value)]);
    } catch {
      context.addIssue({ code: "custom", message: "must be KEY=VALUE pairs, URL-encoded" });
      return z.NEVER;
    }
  })
  .optional();

const state = z.enum(["running", "paused"]);

/** `running,paused` in one value, as the clients send it, or in several. */
const states = z
  .union([z.string().max(100), z.array(z.string().max(100)).max(8)])
  .transform((given) => [given].flat().flatMap((text) => text.split(",")))
  .pipe(z.array(state).min(1))
  .optional();

export const listQuery = z.object({
  metadata: metadataField,
  state: states,
  template: z
    .string()
    .min(1)
    .max(200)
    .refine((text) => !text.includes(":"), "must be a template without a tag")
    .optional(),
  startedAfter: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .optional(),
  order: z.enum(["asc", "desc"]).default("desc"),
  limit: limitField,
  nextToken: tokenField,
});

export type ListQuery = z.output<typeof listQuery>;
