import * as z from "zod";
import { EVALUATE_MAX_BYTES } from "../frames.ts";
import { defineAction } from "./action.ts";

const SCRIPT_MAX = 262_144;

const Args = z.object({ expression: z.string().min(1).max(SCRIPT_MAX) });
export type EvaluateArgs = z.infer<typeof Args>;

/** A text, which is nobody's object: a page may nest a value deeper than a reader has stack. */
const Value = z.object({ json: z.string().max(EVALUATE_MAX_BYTES) });
export type EvaluateValue = z.infer<typeof Value>;

/** Evaluates JavaScript in the page, and answers with its value as JSON; `undefined` if it has none. */
export const EVALUATE = defineAction({ name: "evaluate", args: Args, value: Value });
