import * as z from "zod";

const PATTERN_MAX = 10_000;

export function patternArgument(description: string) {
  return z
    .string()
    .min(1)
    .max(PATTERN_MAX)
    .refine((pattern) => !pattern.includes("\0"), "must not hold a NUL byte")
    .describe(description);
}

const Glob = z
  .string()
  .min(1)
  .max(1_024)
  .refine((glob) => !glob.includes("\0"), "must not hold a NUL byte")
  .refine((glob) => !glob.startsWith("!"), "must not start with !; use exclude for what to leave out");

/** One glob or several. */
export function globsArgument(description: string) {
  return z
    .union([Glob, z.array(Glob).max(50)])
    .optional()
    .describe(description);
}

export function toGlobs(globs: string | readonly string[] | undefined): readonly string[] {
  if (globs === undefined) return [];
  return typeof globs === "string" ? [globs] : globs;
}

export const INCLUDE_IGNORED = z
  .boolean()
  .optional()
  .describe("Also what .gitignore and the like leave out; Hidden files are always searched, .git never");

/** Options that every ripgrep run has: nobody's own settings, the same order each time, hidden files, and no .git. */
export function ripgrepArguments({
  globs,
  includeIgnored,
}: {
  readonly globs: readonly string[];
  readonly includeIgnored: boolean;
}): readonly string[] {
  return [
    "--no-config",
    "--hidden",
    "--no-messages",
    "--color=never",
    "--sort=path",
    ...(includeIgnored ? ["--no-ignore"] : []),
    ...[...globs, "!.git"].map((glob) => `--glob=${glob}`),
  ];
}
