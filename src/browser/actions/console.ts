import * as z from "zod";
import { defineAction } from "./action.ts";
import { CHANGE_LINE_MAX } from "./change-limits.ts";
import { CONSOLE_KEPT, LOG_DEFAULT } from "./log-limits.ts";

export const CONSOLE_FIELDS = {
  level: z.enum(["error", "warning", "all"]).optional().describe("From this one up; default all"),
  limit: z.number().int().min(1).max(CONSOLE_KEPT).optional().describe(`The newest; default ${LOG_DEFAULT}`),
};

const Args = z.object(CONSOLE_FIELDS);
export type ConsoleArgs = z.infer<typeof Args>;

const Line = z.object({
  level: z.enum(["error", "warning", "info"]),
  text: z.string().max(CHANGE_LINE_MAX),
  place: z.string().max(CHANGE_LINE_MAX),
});
export type ConsoleLine = z.infer<typeof Line>;

const Value = z.object({
  lines: z.array(Line).max(CONSOLE_KEPT),
  /** Of that level, older ones that are not in the answer. */
  omitted: z.number().int().min(0),
});
export type ConsoleValue = z.infer<typeof Value>;

/** What the pages of the tab wrote to the console. */
export const CONSOLE = defineAction({ name: "console", args: Args, value: Value, isUrgent: true });
