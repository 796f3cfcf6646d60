import * as z from "zod";
import { defineAction } from "./action.ts";
import { Change } from "./change.ts";

const KEY_MAX = 60;

export const PRESS_KEY_FIELDS = { key: z.string().min(1).max(KEY_MAX).describe("As Enter, a, ArrowDown, Control+Shift+K") };

const Args = z.object(PRESS_KEY_FIELDS);
export type PressKeyArgs = z.infer<typeof Args>;

export const PRESS_KEY = defineAction({ name: "press_key", args: Args, value: Change });
