import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";
import { TARGET_FIELDS, TEXT_MAX } from "./fields.ts";

export const TYPE_FIELDS = {
  ...TARGET_FIELDS,
  text: z.string().max(TEXT_MAX),
  append: z.boolean().optional().describe("Keep what the field has"),
  slowly: z.boolean().optional().describe("Key by key"),
  submit: z.boolean().optional().describe("Press Enter after it"),
};

const Args = z.object(TYPE_FIELDS);
export type TypeArgs = z.infer<typeof Args>;

const BASE_MS = 10_000;
/** Of one key, on a busy machine and in a page that looks at each. */
const KEY_MS = 10;

/** Types into what is named, or has the focus. */
export const TYPE = defineAction({
  name: "type",
  args: Args,
  value: Change,
  timeMs: ({ text, slowly }) => (slowly === true ? BASE_MS + text.length * KEY_MS : undefined),
});
