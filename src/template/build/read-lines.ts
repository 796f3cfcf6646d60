import { BelljarError } from "../../errors.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";

const FILE_MAX = 262_144;
const LINES_MAX = 1_000;
const DIRECTIVE = /^#[ \t]*([a-z]+)[ \t]*=(.*)$/i;

/** One instruction, whatever lines of the file it takes. */
export interface LogicalLine {
  /** Where it begins, from 1. */
  readonly line: number;
  readonly text: string;
}

export interface DockerfileLines {
  readonly lines: readonly LogicalLine[];
  /** What takes away the meaning of the next character: a backslash, or a backtick where the file says so. */
  readonly escape: string;
}

/**
 * Joins lines that go on, and leaves out comments and empty lines, those between lines that go on too. Throws `DOCKERFILE_INVALID`.
 */
export function readLines(text: string): DockerfileLines {
  if (text.length > FILE_MAX)
    throw new BelljarError("DOCKERFILE_INVALID", `The Dockerfile has more than ${FILE_MAX} characters: shorten it`);
  if (text.includes("\0")) throw new BelljarError("DOCKERFILE_INVALID", "The Dockerfile has a NUL: it is no text");
  const physical = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const escape = findEscape(physical);
  const lines = joinLines(physical, escape);
  if (lines.length > LINES_MAX)
    throw invalidLine(lines[LINES_MAX]?.line ?? 1, `it is instruction ${LINES_MAX + 1}, and ${LINES_MAX} are allowed: use several files`);
  return { lines, escape };
}

/** Directives stand above all else. Those that Belljar has no use for, such as `syntax`, are comments. */
function findEscape(physical: readonly string[]): string {
  for (const [index, text] of physical.entries()) {
    const [, name = "", rest = ""] = DIRECTIVE.exec(text) ?? [];
    if (name === "") break;
    if (name.toLowerCase() !== "escape") continue;
    const value = rest.trim();
    if (value === "\\" || value === "`") return value;
    throw invalidLine(index + 1, `the escape ${quoted(value)} is none: it is \\ or \``);
  }
  return "\\";
}

function joinLines(physical: readonly string[], escape: string): readonly LogicalLine[] {
  const lines: LogicalLine[] = [];
  let open: LogicalLine | undefined;
  for (const [index, raw] of physical.entries()) {
    if (/^\s*(?:#|$)/.test(raw)) continue;
    const kept = raw.trimEnd();
    const goesOn = kept.endsWith(escape);
    const text = (open?.text ?? "") + (goesOn ? kept.slice(0, -1) : kept);
    open = { line: open?.line ?? index + 1, text };
    if (goesOn) continue;
    lines.push(open);
    open = undefined;
  }
  const all = open ? [...lines, open] : lines;
  return all.map(({ line, text }) => ({ line, text: text.trim() })).filter(({ text }) => text !== "");
}
