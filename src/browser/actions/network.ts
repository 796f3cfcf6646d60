import * as z from "zod";
import { defineAction } from "./action.ts";
import { LOG_DEFAULT, REQUEST_URL_MAX, REQUESTS_KEPT } from "./log-limits.ts";

const WORD_MAX = 200;

export const NETWORK_FIELDS = {
  contains: z.string().max(WORD_MAX).optional().describe("Only addresses with this"),
  failed: z.boolean().optional().describe("Only what failed or has a status from 400 on"),
  limit: z.number().int().min(1).max(REQUESTS_KEPT).optional().describe(`The newest; default ${LOG_DEFAULT}`),
};

const Args = z.object(NETWORK_FIELDS);
export type NetworkArgs = z.infer<typeof Args>;

const Request = z.object({
  method: z.string().max(WORD_MAX),
  url: z.string().max(REQUEST_URL_MAX),
  kind: z.string().max(WORD_MAX),
  /** Absent: no answer came. */
  status: z.number().int().min(0).max(999).optional(),
  /** Why it failed. */
  problem: z.string().max(REQUEST_URL_MAX).optional(),
});
export type RequestFacts = z.infer<typeof Request>;

const Value = z.object({ requests: z.array(Request).max(REQUESTS_KEPT), omitted: z.number().int().min(0) });
export type NetworkValue = z.infer<typeof Value>;

/** What the pages of the tab asked for. */
export const NETWORK = defineAction({ name: "network", args: Args, value: Value, isUrgent: true });
