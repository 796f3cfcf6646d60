import { usage } from "../usage.ts";
import type { ModelUsage } from "./model.ts";

/** Dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
}

/** Reads `IN/OUT`. Throws `USAGE`. */
export function readPrice(text: string | undefined): Price | undefined {
  if (text === undefined) return undefined;
  const [, input, output] = /^(\d{1,6}(?:\.\d{1,6})?)\/(\d{1,6}(?:\.\d{1,6})?)$/.exec(text) ?? [];
  if (input === undefined || output === undefined)
    throw usage(`--price is IN/OUT, dollars for a million tokens each, such as 3/15`, "belljar client chat --help");
  return { input: Number(input), output: Number(output) };
}

/** What the endpoint says, else what the price makes of the tokens. Undefined if neither is known. */
export function costOf({ inputTokens, outputTokens, dollars }: ModelUsage, price: Price | undefined): number | undefined {
  return dollars ?? (price && (inputTokens * price.input + outputTokens * price.output) / 1_000_000);
}
