import { posix } from "node:path";
import { createPathPattern } from "../../sandbox/workspace/path-pattern.ts";

export const IGNORE_FILE = ".dockerignore";
export const IGNORE_MAX = 65_536;

/** Whether a path, by its key, is part of the context. */
export interface Kept {
  (key: string): boolean;
  /** What lies in a folder that is left out may be part of it. */
  readonly hasExceptions: boolean;
}

/** The patterns of a `.dockerignore`: from the root of the context, `!` before an exception, and the last one that fits holds. */
export function createIgnore(text: string): Kept {
  const rules = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map(toRule);
  const isKept = (key: string): boolean => rules.findLast(({ fits }) => fits(`/${key}`))?.isException ?? true;
  return Object.assign(isKept, { hasExceptions: rules.some(({ isException }) => isException) });
}

function toRule(line: string): { readonly fits: (key: string) => boolean; readonly isException: boolean } {
  const isException = line.startsWith("!");
  const path = posix.normalize(`/${line.slice(isException ? 1 : 0).trim()}`).replace(/(?<=.)\/$/, "");
  return { fits: createPathPattern(path), isException };
}
