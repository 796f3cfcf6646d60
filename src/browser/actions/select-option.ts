import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";
import { TARGET_FIELDS } from "./fields.ts";

const OPTIONS_MAX = 100;
const OPTION_MAX = 4_096;

export const SELECT_OPTION_FIELDS = {
  ...TARGET_FIELDS,
  values: z.array(z.string().max(OPTION_MAX)).max(OPTIONS_MAX).describe("Values or labels"),
};

const Args = z.object(SELECT_OPTION_FIELDS);
export type SelectOptionArgs = z.infer<typeof Args>;

export const SELECT_OPTION = defineAction({ name: "select_option", args: Args, value: Change });
