import type { DriverCode } from "../driver-codes.ts";
import { FrameError } from "../frames.ts";

const MESSAGE_MAX = 4_000;

/** A foreseen failure, which the server tells as an error of that code. */
export class DriverError extends Error {
  override readonly name = "DriverError";
  readonly code: DriverCode;
  constructor(code: DriverCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export interface Failure {
  readonly code: DriverCode;
  readonly message: string;
}

/** Playwright says which of its functions failed, and adds a log of what it tried: neither is for who asked. */
const PREFIX = /^[a-zA-Z]+\.[a-zA-Z]+: (?:Error: )?/;
const LOG = "\nCall log:";

export function toFailure(error: unknown, fallback: DriverCode = "ACTION_FAILED"): Failure {
  if (error instanceof DriverError) return { code: error.code, message: error.message.slice(0, MESSAGE_MAX) };
  if (error instanceof FrameError)
    return { code: "RESULT_TOO_LARGE", message: `The answer is too large: ${error.message}; ask for less of it` };
  const message = error instanceof Error ? error.message : String(error);
  const [said = ""] = message.split(LOG);
  const isTimeout = error instanceof Error && error.name === "TimeoutError";
  return { code: isTimeout ? "ACTION_TIMEOUT" : fallback, message: said.replace(PREFIX, "").slice(0, MESSAGE_MAX) };
}
