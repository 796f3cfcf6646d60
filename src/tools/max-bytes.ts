import * as z from "zod";

/** What a model is shown of one result unless it asks for more: a context has little room. */
export const SHOWN_BYTES = 16_384;
/** opencode shows a model 2,000 lines of a result, and nothing of its end. The first result has notes above, each has its facts below. */
export const SHOWN_LINES = 1_900;
export const SHOWN_MAX_BYTES = 262_144;
const LEAST_BYTES = 256;

export function maxBytesArgument() {
  return z.number().int().min(LEAST_BYTES).max(SHOWN_MAX_BYTES).optional().describe(`Most to show; default ${SHOWN_BYTES}`);
}

export function rawArgument() {
  return z.boolean().optional().describe("Keep colours and controls");
}
