import * as z from "zod";
import { defineAction } from "./action.ts";

const NUMBER_MAX = 100_000;

export const MARKED_FIELDS = { number: z.number().int().min(0).max(NUMBER_MAX) };

const Args = z.object(MARKED_FIELDS);
export type MarkedArgs = z.infer<typeof Args>;

const Value = z.object({ ref: z.string().max(20) });
export type MarkedValue = z.infer<typeof Value>;

/** The reference of the element that the last picture with marks gave this number. */
export const MARKED = defineAction({ name: "marked", args: Args, value: Value });
