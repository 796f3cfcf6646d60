import { BelljarError } from "../errors.ts";

/** Larger files must be edited by commands inside, not in the server's memory. */
export const EDIT_MAX_BYTES = 8 * 1_048_576;

export function assertText(path: string, content: Buffer): void {
  if (!content.includes(0)) return;
  throw new BelljarError("FILE_NOT_TEXT", `"${path}" holds NUL bytes, so it is not text; change it with a program, by run_command`);
}
