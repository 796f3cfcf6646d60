import type { Readable } from "node:stream";
import { BelljarError } from "../errors.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { tellUsedUp, watchUsedUp } from "../sandbox/used-up.ts";

const STDERR_MAX_CHARACTERS = 4_000;

/** A program that runs inside for a tool, and whose output is read as it comes. Disposing it kills the program. */
export interface InnerProgram extends AsyncDisposable {
  readonly stdout: Readable;
  /** To be awaited once `stdout` was read to its end. */
  ended(): Promise<ProgramEnd>;
}

export interface ProgramEnd {
  /** Undefined when a signal ended it. */
  readonly exitCode: number | undefined;
  readonly timedOut: boolean;
  /** The beginning of what it said there. */
  readonly stderr: string;
  /** What the sandbox had no more of when the program failed, in words. An exit code of 1 is an answer, as of a search without a match. */
  readonly usedUp: readonly string[];
}

export interface ProgramOptions {
  /** Names or paths; the first that the sandbox has is run. */
  readonly programs: readonly string[];
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Undefined when the sandbox has none of the programs. */
export async function openInnerProgram(sandbox: Sandbox, options: ProgramOptions): Promise<InnerProgram | undefined> {
  for (const program of options.programs) {
    const opened = await openOne(sandbox, program, options);
    if (opened) return opened;
  }
  return undefined;
}

async function openOne(sandbox: Sandbox, program: string, options: ProgramOptions): Promise<InnerProgram | undefined> {
  const { args, cwd, timeoutMs, signal } = options;
  const findUsedUp = await watchUsedUp(sandbox);
  try {
    const process = await sandbox.guest.exec({
      argv: [program, ...args],
      stdin: false,
      timeoutMs,
      signal,
      ...(cwd !== undefined && { cwd }),
    });
    const stderr = keepStart(process.stderr);
    return {
      stdout: process.stdout,
      async ended() {
        const { exitCode, timedOut } = await process.exited;
        const isAnswer = exitCode === 0 || exitCode === 1;
        const usedUp = isAnswer ? undefined : await findUsedUp({ exitCode, timedOut });
        return { exitCode, timedOut, stderr: await stderr, usedUp: tellUsedUp(usedUp) };
      },
      [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
    };
  } catch (error) {
    if (error instanceof BelljarError && (error.code === "COMMAND_NOT_FOUND" || error.code === "COMMAND_NOT_EXECUTABLE")) return undefined;
    throw error;
  }
}

/** Reads all, so that the program never waits, and keeps the beginning. */
function keepStart(stream: Readable): Promise<string> {
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    if (text.length < STDERR_MAX_CHARACTERS) text = (text + chunk.toString("utf8")).slice(0, STDERR_MAX_CHARACTERS);
  });
  return new Promise((resolve) => {
    // An error here is the exec's, which `exited` reports.
    stream
      .once("error", () => resolve(text))
      .once("close", () => resolve(text))
      .once("end", () => resolve(text));
  });
}
