import { BelljarError } from "../../../src/errors.ts";

/** The code of what was foreseen, undefined where nothing was refused; anything else goes on. */
export function refused(action: () => void): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return codeOf(error);
  }
}

export function codeOf(error: unknown): string {
  if (error instanceof BelljarError && error.code !== "INTERNAL") return error.code;
  throw error;
}
