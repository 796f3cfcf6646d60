import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";
import { selector, timeoutMs } from "./fields.ts";

const WANTED_MAX = 4_096;

export const WAIT_FOR_FIELDS = {
  text: z.string().min(1).max(WANTED_MAX).optional().describe("Until it is shown"),
  text_gone: z.string().min(1).max(WANTED_MAX).optional(),
  selector: selector.describe("Until such an element is shown"),
  url: z.string().min(1).max(WANTED_MAX).optional().describe("Until the address is so; ** is anything"),
  timeout_ms: timeoutMs,
};

const Args = z.object(WAIT_FOR_FIELDS);
export type WaitForArgs = z.infer<typeof Args>;

export const WAIT_FOR = defineAction({ name: "wait_for", args: Args, value: Change });
