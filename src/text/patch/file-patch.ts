import { BelljarError } from "../../errors.ts";

/** What a patch does to one file. Texts are byte texts, paths are as the patch has them. */
export type FilePatch =
  | { readonly kind: "add"; readonly path: string; readonly text: string; readonly mode?: number }
  /** With hunks, the file must hold just what they take away. */
  | { readonly kind: "delete"; readonly path: string; readonly hunks: readonly Hunk[] }
  | { readonly kind: "update"; readonly path: string; readonly moveTo?: string; readonly hunks: readonly Hunk[]; readonly mode?: number };

export interface Hunk {
  /** Its first line in the patch, for messages. */
  readonly title: string;
  readonly lines: readonly HunkLine[];
  /** Where its first line is believed to be, from 1; without it the hunk is looked for after the one before. */
  readonly at?: number;
  /** Lines that come before it, in this order. */
  readonly anchors: readonly string[];
  readonly endsFile: boolean;
  /** The last old or new line has no newline. */
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

/** Throws `ARGUMENTS_INVALID` before a patch of too many lines is read. */
export function assertLineBound(lines: number): void {
  if (lines <= LINES_MAX) return;
  throw new BelljarError("ARGUMENTS_INVALID", `The patch has ${lines} lines; at most ${LINES_MAX} are applied at once. ${ADVICE}`);
}

/** Throws `ARGUMENTS_INVALID` for a patch that is more than one call should do. */
export function assertBounds(patches: readonly FilePatch[]): readonly FilePatch[] {
  const hunks = patches.reduce((sum, patch) => sum + (patch.kind === "add" ? 1 : patch.hunks.length), 0);
  if (patches.length <= FILES_MAX && hunks <= HUNKS_MAX) return patches;
  throw new BelljarError(
    "ARGUMENTS_INVALID",
    `The patch has ${patches.length} files and ${hunks} hunks; at most ${FILES_MAX} and ${HUNKS_MAX} are applied at once. ${ADVICE}`,
  );
}
