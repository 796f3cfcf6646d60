import { BelljarError, type ErrorCode } from "../../errors.ts";
import { printable } from "../../files/printable.ts";

const SHOWN_MAX = 80;

/** What `line` of the instructions of a build is the number of. */
export type Counted = "lines" | "steps";

/** What is wrong at a number of a Dockerfile. Of a build that nobody wrote into a file it says something else: `toldIn`. */
class PlacedError extends BelljarError {
  readonly #step: string;

  constructor(
    code: ErrorCode,
    { number, problem, cause }: { readonly number: number; readonly problem: string; readonly cause?: unknown },
  ) {
    super(code, `Line ${number} of the Dockerfile${problem}`, { cause });
    this.#step = `${number === 0 ? "What the template begins with" : `Step ${number}`}${problem}`;
  }

  ofStep(): BelljarError {
    return new BelljarError(this.code, this.#step, { cause: this });
  }
}

/** `problem` says what is wrong, and what to do. */
export function invalidLine(line: number, problem: string, cause?: unknown): BelljarError {
  return new PlacedError("DOCKERFILE_INVALID", { number: line, problem: `: ${problem}`, cause });
}

/** Of a step that is well written. `what` goes on behind its number. */
export function failedLine(code: ErrorCode, line: number, what: string): BelljarError {
  return new PlacedError(code, { number: line, problem: ` ${what}` });
}

/** The error in words that whoever gave the file knows: its numbers are those of lines or of steps. */
export function toldIn({ counts }: { readonly counts: Counted }, error: unknown): unknown {
  return counts === "steps" && error instanceof PlacedError ? error.ofStep() : error;
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
