import { posix } from "node:path";
import { BelljarError } from "../../errors.ts";
import { createPathPattern } from "../../sandbox/workspace/path-pattern.ts";
import { type MatchWork, PATTERN_MAX } from "./match-work.ts";

export const IGNORE_FILE = ".dockerignore";
export const IGNORE_MAX = 65_536;
const RULES_MAX = 256;
/** Of all patterns together, each of which may be tried on each name. */
const CHARACTERS_MAX = 8_192;

/** Whether a path, by its key, is part of the context. */
export interface Kept {
  (key: string): boolean;
  /** What lies in a folder that is left out may be part of it. */
  readonly hasExceptions: boolean;
}

/**
 * The patterns of a `.dockerignore`: from the root of the context, `!` before an exception, and the last one that fits holds. Throws
 * `FILE_TOO_LARGE` for more of them than can be tried on every name.
 */
export function createIgnore(text: string, { spend }: Pick<MatchWork, "spend">): Kept {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  assertFew(lines);
  const rules = lines.map((line) => toRule(line, spend));
  const isKept = (key: string): boolean => rules.findLast(({ fits }) => fits(`/${key}`))?.isException ?? true;
  return Object.assign(isKept, { hasExceptions: rules.some(({ isException }) => isException) });
}

function assertFew(lines: readonly string[]): void {
  const characters = lines.reduce((sum, line) => sum + line.length, 0);
  const problem =
    (lines.length > RULES_MAX && `more than ${RULES_MAX} patterns`) ||
    (lines.some((line) => line.length > PATTERN_MAX) && `a pattern of more than ${PATTERN_MAX} characters`) ||
    (characters > CHARACTERS_MAX && `patterns of more than ${CHARACTERS_MAX} characters in all`);
  if (problem) throw new BelljarError("FILE_TOO_LARGE", `${IGNORE_FILE} has ${problem}: leave out folders as a whole, or use wildcards`);
}

function toRule(line: string, spend: MatchWork["spend"]): { readonly fits: (key: string) => boolean; readonly isException: boolean } {
  const isException = line.startsWith("!");
  const path = posix.normalize(`/${line.slice(isException ? 1 : 0).trim()}`).replace(/(?<=[^])\/$/, "");
  return { fits: createPathPattern(path, spend), isException };
}
