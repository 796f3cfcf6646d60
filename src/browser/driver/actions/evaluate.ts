import { EVALUATE_MAX_BYTES } from "../../frames.ts";
import type { EvaluateArgs, EvaluateValue } from "../../actions/evaluate.ts";
import { DriverError } from "../driver-error.ts";
import { defineHandler } from "../handler.ts";
import { ACT_MS, assertNoDialog, reasoned } from "./act.ts";
import { toLocator } from "./target.ts";

export const evaluate = defineHandler<EvaluateArgs, EvaluateValue>({
  name: "evaluate",
  async run(tab, args) {
    assertNoDialog(tab);
    const { expression } = args;
    const locator = await toLocator(tab, args);
    using opening = tab.nextDialog();
    const evaluating = reasoned(() =>
      locator ? locator.evaluate(expression, undefined, { timeout: ACT_MS }) : tab.page.evaluate(expression),
    );
    evaluating.catch(() => undefined);
    const held = opening.dialog.then(() => assertNoDialog(tab));
    held.catch(() => undefined);
    return { value: { json: toJson(await Promise.race([evaluating, held])) } };
  },
});

function toJson(value: unknown): string {
  const json = stringify(value) ?? "undefined";
  const bytes = Buffer.byteLength(json);
  if (bytes <= EVALUATE_MAX_BYTES) return json;
  const advice = "return less of it, or write it to a file of the sandbox by a download";
  throw new DriverError("RESULT_TOO_LARGE", `The value has ${bytes} bytes as JSON, at most ${EVALUATE_MAX_BYTES} come back: ${advice}`);
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw new DriverError("SCRIPT_FAILED", `The value is none of JSON: ${error instanceof Error ? error.message : ""}`);
  }
}
