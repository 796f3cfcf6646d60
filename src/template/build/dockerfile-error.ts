import { BelljarError } from "../../errors.ts";
import { printable } from "../../files/printable.ts";

const SHOWN_MAX = 80;

/** `problem` says what is wrong, and what to do. */
export function invalidLine(line: number, problem: string, cause?: unknown): BelljarError {
  return new BelljarError("DOCKERFILE_INVALID", `Line ${line} of the Dockerfile: ${problem}`, { cause });
}

/** A text of the file, for a message. */
export function quoted(text: string): string {
  return printable(JSON.stringify(cut(text)));
}

/** The same without quotes. */
export function shown(text: string): string {
  return printable(cut(text));
}

function cut(text: string): string {
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}...` : text;
}
