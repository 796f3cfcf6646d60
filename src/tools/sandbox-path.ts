import { posix } from "node:path";
import * as z from "zod";
import type { Sandbox } from "../sandbox/sandbox.ts";

export function pathArgument(description: string) {
  return z
    .string()
    .min(1)
    .max(4_096)
    .refine((path) => !path.includes("\0"), "must not hold a NUL byte")
    .describe(description);
}

/** The absolute path that a caller's path stands for: relative ones start at the workspace, or else at the home. No link is followed. */
export function toAbsolute({ inside }: Pick<Sandbox, "inside">, path: string): string {
  return posix.resolve(inside.cwd, path);
}
