import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";
import { URL_MAX } from "./change-limits.ts";
import { timeoutMs } from "./fields.ts";

export const NAVIGATE_FIELDS = {
  url: z.string().min(1).max(URL_MAX).optional(),
  go: z.enum(["back", "forward", "reload"]).optional().describe("In the place of url"),
  timeout_ms: timeoutMs,
};

const Args = z.object(NAVIGATE_FIELDS);
export type NavigateArgs = z.infer<typeof Args>;

const Value = Change.extend({
  /** Absent where the answer has none, as of a `data:` address. */
  status: z.number().int().min(0).max(999).optional(),
});
export type NavigateValue = z.infer<typeof Value>;

/** Opens an address in the tab, or goes along its history, and waits until the document is there. */
export const NAVIGATE = defineAction({ name: "navigate", args: Args, value: Value });
