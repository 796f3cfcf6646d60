import * as z from "zod";
import { defineAction } from "./action.ts";
import { LISTED_URL_MAX, TITLE_MAX, URL_MAX } from "./change-limits.ts";

const TABS_MAX = 100;

export const TABS_FIELDS = {
  action: z.enum(["list", "new", "select", "close"]),
  index: z.number().int().min(0).max(TABS_MAX).optional().describe("For select and close; default the current one"),
  url: z.string().min(1).max(URL_MAX).optional().describe("For new"),
};

const Args = z.object(TABS_FIELDS);
export type TabsArgs = z.infer<typeof Args>;

const Value = z.object({
  tabs: z.array(z.object({ url: z.string().max(LISTED_URL_MAX), title: z.string().max(TITLE_MAX), current: z.boolean() })).max(TABS_MAX),
});
export type TabsValue = z.infer<typeof Value>;

export const TABS = defineAction({ name: "tabs", args: Args, value: Value, isUrgent: true });
