import { BelljarError } from "../errors.ts";
import type { EditProblem } from "./store/unit-store.ts";

/** What a harness says of code that it cannot read. */
export interface CodeFault {
  readonly line?: number | null | undefined;
  readonly message: string;
}

/** Code that cannot be read, as `TOOL_INVALID`. Its cause keeps the fault. */
export function codeError(name: string, { line, message }: CodeFault): BelljarError {
  const cause = Object.assign(new Error(message), { line });
  return new BelljarError("TOOL_INVALID", `${name}${line == null ? "" : `, line ${line}`}: ${message}`, { cause });
}

/** The same as a problem of that file; of another error its message. */
export function toEditProblem(file: string, error: unknown): EditProblem {
  const { cause } = error instanceof BelljarError && error.code === "TOOL_INVALID" ? error : {};
  if (cause instanceof Error && "line" in cause)
    return { file, message: cause.message, ...(typeof cause.line === "number" && { line: cause.line }) };
  return { file, message: error instanceof Error ? error.message : String(error) };
}

/** In a person's words: the place, and what is wrong there. */
export function tellProblem({
  file,
  line,
  message,
}: {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly message: string;
}): string {
  const place = [...(file ? [file] : []), ...(line === undefined ? [] : [`line ${line}`])].join(", ");
  return place === "" ? message : `${place}: ${message}`;
}

export function isSameProblem(one: EditProblem | undefined, other: EditProblem): boolean {
  return one !== undefined && tellProblem(one) === tellProblem(other);
}
