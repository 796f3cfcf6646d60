import * as z from "zod";
import { defineAction } from "./action.ts";

/** Longer addresses come with data that a page can fetch by itself. */
const URL_MAX = 65_536;
const TITLE_MAX = 2_000;

const Args = z.object({ url: z.string().min(1).max(URL_MAX) });
export type NavigateArgs = z.infer<typeof Args>;

const Value = z.object({
  url: z.string().max(URL_MAX),
  title: z.string().max(TITLE_MAX),
  /** Absent where the answer has none, as of a `data:` address. */
  status: z.number().int().min(0).max(999).optional(),
});
export type NavigateValue = z.infer<typeof Value>;

/** Opens an address in the tab, and waits until the document is there. */
export const NAVIGATE = defineAction({ name: "navigate", args: Args, value: Value });
