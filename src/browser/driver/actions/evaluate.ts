import { EVALUATE_MAX_BYTES } from "../../frames.ts";
import type { EvaluateArgs, EvaluateValue } from "../../actions/evaluate.ts";
import { DriverError, toFailure } from "../driver-error.ts";
import { defineHandler } from "../handler.ts";

export const evaluate = defineHandler<EvaluateArgs, EvaluateValue>({
  name: "evaluate",
  async run({ page }, { expression }) {
    const value: unknown = await page.evaluate(expression).catch((error: unknown) => {
      throw new DriverError("SCRIPT_FAILED", toFailure(error).message, { cause: error });
    });
    const json = JSON.stringify(value) ?? "undefined";
    const bytes = Buffer.byteLength(json);
    if (bytes > EVALUATE_MAX_BYTES)
      throw new DriverError("RESULT_TOO_LARGE", `The value has ${bytes} bytes as JSON, at most ${EVALUATE_MAX_BYTES} come back`);
    return { value: { json } };
  },
});
