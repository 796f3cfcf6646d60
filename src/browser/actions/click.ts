import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";
import { TARGET_FIELDS } from "./fields.ts";

export const CLICK_FIELDS = {
  ...TARGET_FIELDS,
  double_click: z.boolean().optional(),
  button: z.enum(["left", "right", "middle"]).optional(),
  modifiers: z
    .array(z.enum(["Alt", "Control", "Meta", "Shift"]))
    .max(4)
    .optional(),
};

const Args = z.object(CLICK_FIELDS);
export type ClickArgs = z.infer<typeof Args>;

export const CLICK = defineAction({ name: "click", args: Args, value: Change });
