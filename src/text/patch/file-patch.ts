import { BelljarError } from "../../errors.ts";

/** The part of a patch that concerns one file. Texts are byte texts. Paths are as in the patch. */
export type FilePatch =
  | { readonly kind: "add"; readonly path: string; readonly text: string; readonly mode?: number }
  /** If there are hunks, the file must hold exactly the lines that they remove. */
  | { readonly kind: "delete"; readonly path: string; readonly hunks: readonly Hunk[] }
  | { readonly kind: "update"; readonly path: string; readonly moveTo?: string; readonly hunks: readonly Hunk[]; readonly mode?: number };

export interface Hunk {
  /** The hunk's first line in the patch, for messages. */
  readonly title: string;
  readonly lines: readonly HunkLine[];
  /** Expected line number of its first line, from 1. Without it, the first fitting place after the previous hunk is used. */
  readonly at?: number;
  /** Lines that come before the hunk, in this order. */
  readonly anchors: readonly string[];
  readonly endsFile: boolean;
  /** True if the last old line (or the last new line) has no newline. */
  readonly oldIsOpen: boolean;
  readonly newIsOpen: boolean;
}

export interface HunkLine {
  readonly kind: " " | "-" | "+";
  readonly text: string;
}

const FILES_MAX = 200;
const HUNKS_MAX = 500;
const LINES_MAX = 250_000;
const ADVICE = "Split it, or write it to a file and run patch or git apply";

export function invalidPatch(line: number, problem: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `The patch is not valid, and nothing was changed: line ${line} ${problem}`);
}

/** Throws `ARGUMENTS_INVALID` for a patch of too many lines, before it is parsed. */
export function assertLineBound(lines: number): void {
  if (lines <= LINES_MAX) return;
  throw new BelljarError("ARGUMENTS_INVALID", `The patch has ${lines} lines; at most ${LINES_MAX} are applied at once. ${ADVICE}`);
}

/** Throws `ARGUMENTS_INVALID` for a patch with too many files or hunks. */
export function assertBounds(patches: readonly FilePatch[]): readonly FilePatch[] {
  const hunks = patches.reduce((sum, patch) => sum + (patch.kind === "add" ? 1 : patch.hunks.length), 0);
  if (patches.length <= FILES_MAX && hunks <= HUNKS_MAX) return patches;
  throw new BelljarError(
    "ARGUMENTS_INVALID",
    `The patch has ${patches.length} files and ${hunks} hunks; at most ${FILES_MAX} and ${HUNKS_MAX} are applied at once. ${ADVICE}`,
  );
}
