import * as z from "zod";
import { defineAction } from "./action.ts";

const Args = z.object({});
export type CloseArgs = z.infer<typeof Args>;

const Value = z.object({ closed: z.number().int().min(0).max(100) });
export type CloseValue = z.infer<typeof Value>;

/** Closes the session's tabs. */
export const CLOSE = defineAction({ name: "close", args: Args, value: Value, isUrgent: true });
