import type { Writable } from "node:stream";
import { BelljarError } from "../errors.ts";
import { printableText } from "../files/printable.ts";

export interface ReportOptions {
  readonly stderr: Writable;
  readonly debug: boolean;
  /** For all but usage errors. */
  readonly failureCode: number;
}

/** Says on stderr what went wrong and gives the exit code: 2 for usage, else `failureCode`. A stack is shown for bugs and on --debug. */
export function reportFailure(error: unknown, { stderr, debug, failureCode }: ReportOptions): number {
  if (error instanceof BelljarError) {
    stderr.write(`belljar: ${printableText(error.message)} (${error.code})\n`);
    if (debug) stderr.write(`${printableText(stackOf(error))}\n`);
    return error.code === "USAGE" ? 2 : failureCode;
  }
  stderr.write(`belljar: something went wrong that should not have. Please report this:\n${printableText(stackOf(error))}\n`);
  return failureCode;
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
