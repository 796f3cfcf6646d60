import * as z from "zod";
import { defineAction } from "./action.ts";
import { OPTION_TEXT_MAX, OPTIONS_MAX } from "./option-limits.ts";
import { ELEMENT_FIELDS } from "./fields.ts";

const Args = z.object(ELEMENT_FIELDS);
export type OptionsArgs = z.infer<typeof Args>;

const text = z.string().max(OPTION_TEXT_MAX);
const Value = z.object({
  options: z.array(z.object({ label: text, value: text, selected: z.boolean() })).max(OPTIONS_MAX),
  /** That are not in the answer. */
  omitted: z.number().int().min(0),
});
export type OptionsValue = z.infer<typeof Value>;

/** What a drop-down list offers. */
export const OPTIONS = defineAction({ name: "options", args: Args, value: Value });
