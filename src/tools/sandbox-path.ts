import { posix } from "node:path";
import * as z from "zod";
import { INSIDE } from "../sandbox/sandbox.ts";

/** Where relative paths start: the workspace. */
export const WORKSPACE = INSIDE.userHome;

export function pathArgument(description: string) {
  return z
    .string()
    .min(1)
    .max(4_096)
    .refine((path) => !path.includes("\0"), "must not hold a NUL byte")
    .describe(description);
}

/** The absolute path that a caller's path stands for. Text alone: no link is followed. */
export function toAbsolute(path: string): string {
  return posix.resolve(WORKSPACE, path);
}
