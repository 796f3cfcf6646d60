import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { InnerProgram, ProgramEnd } from "../inner-program.ts";
import { openInnerProgram } from "../inner-program.ts";
import { INSIDE } from "../../sandbox/sandbox.ts";

/** Paths of the programs inside the sandbox; what is left out lies where every sandbox of Belljar has it. */
export interface SearchPrograms {
  readonly rg?: string;
  readonly "ast-grep"?: string;
}

export const SEARCH_TIMEOUT_MS = 30_000;
const FOLDER = INSIDE.executables;

export interface SearchRun {
  readonly programs: SearchPrograms;
  readonly name: keyof SearchPrograms;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly signal: AbortSignal;
}

/** Belljar's own program, else the one that the sandbox has. Rejects with `COMMAND_NOT_FOUND`. */
export async function openSearch(sandbox: Sandbox, { programs, name, ...run }: SearchRun): Promise<InnerProgram> {
  const places = [programs[name] ?? `${FOLDER}/${name}`, name];
  const program = await openInnerProgram(sandbox, { ...run, programs: places, timeoutMs: SEARCH_TIMEOUT_MS });
  if (program) return program;
  throw new BelljarError(
    "COMMAND_NOT_FOUND",
    `This sandbox has no ${name}, which the search needs; install it there, or search with run_command`,
  );
}

/** What the model should know of how the search ended. Throws `ARGUMENTS_INVALID` when the program refused the pattern. */
export function describeEnd({ exitCode, timedOut, stderr, usedUp }: ProgramEnd, found: number): readonly string[] {
  if (timedOut) return [`[Stopped after ${SEARCH_TIMEOUT_MS / 1_000} s; there may be more. Search a smaller folder]`];
  if (exitCode === 0 || exitCode === 1) return [];
  if (found === 0 && stderr.trim() !== "") throw new BelljarError("ARGUMENTS_INVALID", `The search could not be made:\n${stderr.trim()}`);
  return [`[${["Some files could not be read", ...usedUp].join(", and ")}]`];
}
