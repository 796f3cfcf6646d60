import type { DriverCode } from "../driver-codes.ts";

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

export function toFailure(error: unknown, fallback: DriverCode = "ACTION_FAILED"): Failure {
  const code = error instanceof DriverError ? error.code : fallback;
  const message = error instanceof Error ? error.message : String(error);
  // Playwright adds its log of what it tried, which is long.
  return { code, message: message.slice(0, MESSAGE_MAX) };
}
