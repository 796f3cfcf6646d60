import { BelljarError } from "../errors.ts";

/** Wrong usage: what is wrong, and where the help is. */
export function usage(message: string, help: string, cause?: unknown): BelljarError {
  return new BelljarError("USAGE", `${message}\nSee: ${help}`, { cause });
}
