import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";
import { TARGET_FIELDS } from "./fields.ts";

export const HOVER_FIELDS = TARGET_FIELDS;

const Args = z.object(HOVER_FIELDS);
export type HoverArgs = z.infer<typeof Args>;

export const HOVER = defineAction({ name: "hover", args: Args, value: Change });
