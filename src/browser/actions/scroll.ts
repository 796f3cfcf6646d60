import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";
import { TARGET_FIELDS } from "./fields.ts";

const PIXELS_MAX = 1_000_000;

export const SCROLL_FIELDS = {
  ...TARGET_FIELDS,
  direction: z.enum(["up", "down", "left", "right"]).optional(),
  pixels: z.number().min(1).max(PIXELS_MAX).optional().describe("Default: a page"),
};

const Args = z.object(SCROLL_FIELDS);
export type ScrollArgs = z.infer<typeof Args>;

export const SCROLL = defineAction({ name: "scroll", args: Args, value: Change });
