import { BelljarError } from "../errors.ts";

/** Creates a `USAGE` error, with the fault and the command for help. */
export function usage(message: string, help: string, cause?: unknown): BelljarError {
  return new BelljarError("USAGE", `${message}\nSee: ${help}`, { cause });
}
