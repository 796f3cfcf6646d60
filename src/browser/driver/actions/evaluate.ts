import { ANSWER_MAX_BYTES } from "../../frames.ts";
import type { EvaluateArgs, EvaluateValue } from "../../actions/evaluate.ts";
import { DriverError } from "../driver-error.ts";
import { defineHandler } from "../handler.ts";
import type { Tab } from "../tab.ts";
import { unlessAborted } from "../unless-aborted.ts";
import { ACT_MS, assertNoDialog } from "./act.ts";
import { said, toReason } from "./playwright-reasons.ts";
import { toLocator } from "./target.ts";

const FUNCTION = /^\s*(?:async\b\s*)?(?:function\b|\([^()]*\)\s*=>|[\w$]+\s*=>)/;

/** Of the call with an element alone, as its name says. */
const OF_ELEMENT = /^locator\.evaluate: .*(?:strict mode violation|while parsing|is not a valid selector|Unknown engine)/;

export const evaluate = defineHandler<EvaluateArgs, EvaluateValue>({
  name: "evaluate",
  mayLinger: true,
  async run(tab, args, { signal }) {
    assertNoDialog(tab);
    using opening = tab.nextDialog();
    // A script that has begun goes on in its page: nobody can end it.
    const evaluating = unlessAborted(run(tab, args, signal).catch(blame), signal);
    const held = opening.dialog.then(() => assertNoDialog(tab));
    evaluating.catch(() => undefined);
    held.catch(() => undefined);
    return { value: { json: toJson(await Promise.race([evaluating, held])) } };
  },
});

async function run(tab: Tab, args: EvaluateArgs, signal: AbortSignal): Promise<unknown> {
  const { expression } = args;
  const isFunction = FUNCTION.test(expression);
  const locator = await toLocator(tab, args);
  if (locator)
    return locator.evaluate(asFunction(`(element) => (${expression}\n)${isFunction ? "(element)" : ""}`), undefined, {
      timeout: ACT_MS,
      signal,
    });
  return isFunction ? tab.page.evaluate(asFunction(expression)) : tab.page.evaluate(expression);
}

/** What is said of the element is playwright's own; all else is the script's, whose words choose no code. */
function blame(error: unknown): never {
  if (!(error instanceof Error) || error instanceof DriverError) throw error;
  const { name, message } = error;
  if (name === "TimeoutError" || OF_ELEMENT.test(message)) throw toReason(error);
  throw new DriverError("SCRIPT_FAILED", said(message));
}

/** Playwright sends a function as its text; one of the caller's never runs here. It needs no `eval`, which a page's policy may forbid. */
function asFunction(source: string): () => unknown {
  return Object.assign(() => undefined, { toString: () => source });
}

function toJson(value: unknown): string {
  const json = stringify(value) ?? "undefined";
  // It goes as a text in JSON, where each quote in it takes two bytes.
  const sent = Buffer.byteLength(JSON.stringify(json));
  if (sent <= ANSWER_MAX_BYTES) return json;
  const size = `${Buffer.byteLength(json)} bytes as JSON, and ${sent} with its quotes escaped`;
  throw new DriverError("RESULT_TOO_LARGE", `The value has ${size}: at most ${ANSWER_MAX_BYTES} come back, so return less of it`);
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw new DriverError("SCRIPT_FAILED", `The value is none of JSON: ${error instanceof Error ? error.message : ""}`);
  }
}
