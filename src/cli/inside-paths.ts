import { posix } from "node:path";
import type { Sandbox } from "../sandbox/sandbox.ts";

/** Relative paths start where commands start in the sandbox. */
export function toInsidePaths({ inside }: Pick<Sandbox, "inside">, paths: readonly string[]): readonly string[] {
  return paths.map((path) => posix.resolve(inside.cwd, path));
}
