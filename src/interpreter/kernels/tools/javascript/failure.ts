import { inspect, stripVTControlCharacters } from "node:util";
import { isNativeError } from "node:util/types";
import { Refusal } from "./refusal.ts";
import type { UnitSource } from "./unit-source.ts";

const MAX_CHARACTERS = 60 * 1024;
const MAX_FRAMES = 50;
const MAX_CAUSES = 5;
const MAX_ERRORS = 10;
const FRAME = /^\s+at /;

export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly traceback: string;
}

/** An error of the author's code, whose fields may be anything. */
interface Thrown {
  readonly name: unknown;
  readonly message: unknown;
  readonly stack?: unknown;
  readonly errors?: unknown;
  readonly cause?: unknown;
  readonly constructor?: { readonly name?: unknown };
}

/** What was thrown, by the author's own frames and lines. It may run the thrown value's own code. */
export function toFailure(thrown: unknown, unit: UnitSource): Failure {
  try {
    if (thrown instanceof Refusal) return { name: "LoadError", message: plain(thrown.message), traceback: describeRefusal(thrown, unit) };
    if (!isError(thrown)) {
      const text = show(thrown);
      return { name: "Error", message: text, traceback: `Uncaught ${text}` };
    }
    return { name: nameOf(thrown), message: plain(String(thrown.message)), traceback: plain(describe(thrown, unit, 0)) };
  } catch {
    return { name: "Error", message: "An error that cannot be shown", traceback: "An error that cannot be shown" };
  }
}

/** The author's line where it was thrown. */
export function lineOf(thrown: unknown, unit: UnitSource): number | null {
  try {
    if (thrown instanceof Refusal) return thrown.line;
    if (!isError(thrown)) return null;
    for (const line of String(thrown.stack).split("\n")) {
      const number = unit.lineIn(line);
      if (number !== undefined) return number;
    }
  } catch {
    // A stack of the code's own making.
  }
  return null;
}

function describe(error: Thrown, unit: UnitSource, depth: number): string {
  const lines = [plain(`${nameOf(error)}: ${String(error.message)}`), ...framesOf(error, unit)];
  if (depth === MAX_CAUSES) return lines.join("\n");
  const { errors, cause } = error;
  const inner = Array.isArray(errors) ? (errors as unknown[]) : [];
  for (const one of inner.slice(0, MAX_ERRORS)) lines.push(indented(`One of ${inner.length}: ${describeInner(one, unit, depth)}`));
  if (inner.length > MAX_ERRORS) lines.push(`    and ${inner.length - MAX_ERRORS} more`);
  if (cause !== undefined) lines.push(`Caused by ${describeInner(cause, unit, depth)}`);
  return lines.join("\n");
}

function describeInner(thrown: unknown, unit: UnitSource, depth: number): string {
  return isError(thrown) ? describe(thrown, unit, depth + 1) : show(thrown);
}

function framesOf(error: Thrown, unit: UnitSource): string[] {
  const frames: string[] = [];
  for (const line of String(error.stack).split("\n")) {
    const number = FRAME.test(line) ? unit.lineIn(line) : undefined;
    if (number === undefined || frames.length >= MAX_FRAMES) continue;
    frames.push(`    at ${functionIn(line)}(${unit.file}:${number})\n        ${unit.line(number)}`);
  }
  return frames;
}

/** Such as `find `; nothing for the code's top level. */
function functionIn(frame: string): string {
  const end = frame.indexOf(" (");
  const name = frame.slice(frame.indexOf("at ") + 3, end === -1 ? 0 : end + 1);
  return name.replace(/^Object\./, "");
}

function describeRefusal({ message, line }: Refusal, unit: UnitSource): string {
  const place = line === null ? unit.file : `${unit.file}:${line}\n        ${unit.line(line)}`;
  return plain(`LoadError: ${message}\n    at ${place}`);
}

/** The name that the class has, where the error itself has none. */
function nameOf(error: Thrown): string {
  const name = error.name === "Error" ? error.constructor?.name : error.name;
  return typeof name === "string" && name !== "" ? plain(name) : "Error";
}

function isError(thrown: unknown): thrown is Thrown {
  return isNativeError(thrown) || thrown instanceof Error;
}

function show(value: unknown): string {
  return plain(inspect(value, { depth: 2, maxStringLength: MAX_CHARACTERS, breakLength: 120 }));
}

function indented(text: string): string {
  return text.replace(/^/gm, "    ");
}

function plain(text: string): string {
  return stripVTControlCharacters(text.slice(0, MAX_CHARACTERS));
}
