import { BelljarError } from "../../errors.ts";
import { toKey } from "./entry.ts";
import { createPathPattern } from "./path-pattern.ts";

const MAGIC = /[*?[]/;

/** Which paths a caller asked for, and which of them by name. */
export interface Selection {
  isAsked(key: string): boolean;
  /** By its own path or that of a folder that holds it, never by a pattern. */
  isNamed(key: string): boolean;
  /** Whether it is named, or something that lies in it. */
  leadsInto(key: string): boolean;
}

/**
 * Paths below the workspace, folders for all that lies in them, and patterns of `createPathPattern`. Without any, all is asked for and nothing
 * named. Throws `PATH_INVALID`.
 */
export function selectPaths(paths: readonly string[]): Selection {
  const asked = paths.map(normalise);
  const plain = asked.filter((path) => !MAGIC.test(path)).map(toLatin);
  const patterns = asked.filter((path) => MAGIC.test(path)).map((path) => createPathPattern(path));
  const holds = (path: string, key: string): boolean => path === "" || key === path || key.startsWith(`${path}/`);
  return {
    isAsked: (key) => paths.length === 0 || plain.some((path) => holds(path, key)) || patterns.some((fits) => fits(key)),
    leadsInto: (key) => plain.some((path) => path !== "" && (holds(path, key) || holds(key, path))),
    isNamed: (key) => plain.some((path) => path !== "" && holds(path, key)),
  };
}

function normalise(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (path.startsWith("/") || parts.includes("..") || path.includes("\0"))
    throw new BelljarError("PATH_INVALID", `${path} is not below the workspace: name paths as the diff does`);
  return parts.join("/");
}

function toLatin(text: string): string {
  return toKey(Buffer.from(text));
}
