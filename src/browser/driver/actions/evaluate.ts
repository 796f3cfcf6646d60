import { EVALUATE_MAX_BYTES } from "../../frames.ts";
import type { EvaluateArgs, EvaluateValue } from "../../actions/evaluate.ts";
import { DriverError } from "../driver-error.ts";
import { defineHandler } from "../handler.ts";

export const evaluate = defineHandler<EvaluateArgs, EvaluateValue>({
  name: "evaluate",
  async run({ page }, { expression }) {
    const value: unknown = await page.evaluate(expression);
    const json = JSON.stringify(value) ?? "undefined";
    const bytes = Buffer.byteLength(json);
    if (bytes > EVALUATE_MAX_BYTES)
      throw new DriverError("RESULT_TOO_LARGE", `The value has ${bytes} bytes as JSON, at most ${EVALUATE_MAX_BYTES} come back`);
    return { value: { json } };
  },
});
