import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";
import { TARGET_FIELDS, TEXT_MAX } from "./fields.ts";

const FIELDS_MAX = 100;

const Field = z.strictObject({
  ...TARGET_FIELDS,
  value: z
    .union([z.string().max(TEXT_MAX), z.boolean(), z.array(z.string().max(TEXT_MAX)).max(FIELDS_MAX)])
    .describe("Text, true or false of a checkbox, or the options of a list"),
});

export const FILL_FORM_FIELDS = {
  fields: z.array(Field).min(1).max(FIELDS_MAX),
  submit: z.boolean().optional().describe("Press Enter in the last one"),
};

const Args = z.object(FILL_FORM_FIELDS);
export type FillFormArgs = z.infer<typeof Args>;

export const FILL_FORM = defineAction({ name: "fill_form", args: Args, value: Change });
