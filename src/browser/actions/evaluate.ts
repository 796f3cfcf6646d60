import * as z from "zod";
import { ANSWER_MAX_BYTES } from "../frames.ts";
import { defineAction } from "./action.ts";
import { ELEMENT_FIELDS, TEXT_MAX, timeoutMs } from "./fields.ts";

export const EVALUATE_FIELDS = {
  expression: z.string().min(1).max(TEXT_MAX).describe("An expression, or a function that is called, with the element if one is named"),
  ...ELEMENT_FIELDS,
  timeout_ms: timeoutMs,
};

const Args = z.object(EVALUATE_FIELDS);
export type EvaluateArgs = z.infer<typeof Args>;

/** A text, which is nobody's object: a page may nest a value deeper than a reader has stack. */
const Value = z.object({ json: z.string().max(ANSWER_MAX_BYTES) });
export type EvaluateValue = z.infer<typeof Value>;

/** Evaluates JavaScript in the page, and answers with its value as JSON; `undefined` if it has none. */
export const EVALUATE = defineAction({ name: "evaluate", args: Args, value: Value });
