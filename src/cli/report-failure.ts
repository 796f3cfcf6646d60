import type { Writable } from "node:stream";
import type { ErrorCode } from "../errors.ts";
import { BelljarError } from "../errors.ts";
import { printableText } from "../files/printable.ts";
import { coloursFor } from "./colours.ts";

export interface ReportOptions {
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly debug: boolean;
  /** Exit code of all errors but usage errors. */
  readonly failureCode: number;
  /** Exit codes of single errors. */
  readonly exitCodes?: Readonly<Partial<Record<ErrorCode, number>>>;
}

/** Reports an error on stderr, and returns the exit code: 2 for usage, else that of the error, else `failureCode`. Shows a stack for bugs, and with --debug. */
export function reportFailure(error: unknown, { stderr, debug, failureCode, exitCodes }: ReportOptions): number {
  if (error instanceof BelljarError) {
    stderr.write(`${coloursFor(stderr).red("belljar:")} ${printableText(error.message)} (${error.code})\n`);
    if (debug) stderr.write(`${printableText(stackOf(error))}\n`);
    return error.code === "USAGE" ? 2 : (exitCodes?.[error.code] ?? failureCode);
  }
  stderr.write(`belljar: something went wrong that should not have. Please report this:\n${printableText(stackOf(error))}\n`);
  return failureCode;
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}

/**
 * Whether an error follows from an ending signal or a closed stdout, so that nobody needs to read of it. Work that is broken off fails in
 * many ways; of these only what Belljar itself foresaw says something.
 */
export function isConsequence(error: unknown): boolean {
  return !(error instanceof BelljarError) || error.code === "CANCELLED";
}
