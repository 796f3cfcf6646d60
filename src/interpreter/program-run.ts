import { Readable } from "node:stream";
import { type UsedUp, watchUsedUp } from "../sandbox/used-up.ts";
import type { ExecExit, Guest, RunOptions, Sandbox } from "../sandbox/sandbox.ts";
import type { Build } from "./language.ts";
import { NO_LEFT_FILES } from "./left-files.ts";
import type { OutputWindows } from "./output-window.ts";
import { openOutputWindows } from "./output-window.ts";
import type { ProgramResult, RunProgramOptions } from "./program.ts";
import { fitsWarm } from "./warm/fits-warm.ts";
import type { WarmProgram } from "./warm/warm-program.ts";

/** The options with all defaults. */
export type BuildOptions = RunProgramOptions &
  Required<Pick<RunProgramOptions, "timeoutMs" | "maxOutputBytes">> & {
    /** An interpreter that waits in the sandbox. It belongs to this run. */
    readonly warm?: WarmProgram | undefined;
  };

type Phase = ProgramResult["phase"];

/** The one or two execs of a program. They share one time limit. */
export class ProgramRun {
  readonly #sandbox: Sandbox;
  readonly #build: Build;
  readonly #options: BuildOptions;
  #usedMs = 0;

  constructor(sandbox: Sandbox, build: Build, options: BuildOptions) {
    this.#sandbox = sandbox;
    this.#build = build;
    this.#options = options;
  }

  /** Compiles the program if its language needs it, and runs it. A failure of the program is a result, a failure of the sandbox rejects. */
  async execute(): Promise<ProgramResult> {
    const { language, program } = this.#build;
    const compile = language.compile?.(this.#build);
    if (compile) {
      const compiled = await this.#exec("compile", compile);
      if (compiled.status !== "success") return this.#showCompiler(compiled);
    }
    return this.#exec("run", [...language.run(this.#build), ...(program.args ?? [])]);
  }

  async #exec(phase: Phase, argv: readonly string[]): Promise<ProgramResult> {
    const windows = openOutputWindows(this.#options.maxOutputBytes);
    const findUsedUp = await watchUsedUp(this.#sandbox);
    const { warm } = this.#options;
    const goesOn = warm !== undefined && fitsWarm(this.#build);
    // It would take memory from a program that cannot use it.
    if (!goesOn) await warm?.discard();
    const result = await (goesOn ? this.#goOn(warm, windows) : this.#run(phase, argv, windows));
    this.#usedMs += result.durationMs;
    const usedUp = result.exitCode === 0 ? undefined : await findUsedUp(result);
    return toResult(phase, { ...result, durationMs: this.#usedMs, usedUp }, windows);
  }

  /** The interpreter has started: its program runs in it. */
  async #goOn(warm: WarmProgram, windows: OutputWindows): Promise<ExecExit> {
    const { program, language } = this.#build;
    const { signal, timeoutMs, onOutput } = this.#options;
    const env = { ...(await this.#sandbox.environment()), ...language.env, ...program.env };
    const input = program.stdin instanceof Readable ? undefined : program.stdin;
    const take = (stream: keyof OutputWindows, chunk: Buffer): unknown => (windows[stream].push(chunk), onOutput?.(stream, chunk));
    return warm.run({ env, input, timeoutMs, signal, onOutput: take });
  }

  #run(phase: Phase, argv: readonly string[], windows: OutputWindows): Promise<ExecExit> {
    const { guest } = this.#sandbox;
    const { program, language, folder } = this.#build;
    const cwd = phase === "run" ? (this.#build.cwd ?? folder) : folder;
    const { signal, timeoutMs, onOutput } = this.#options;
    const request = {
      argv,
      signal,
      timeoutMs: Math.max(1, Math.ceil(timeoutMs - this.#usedMs)),
      env: { ...language.env, ...program.env },
      ...(cwd !== undefined && { cwd }),
      onOutput: (stream: keyof OutputWindows, chunk: Buffer) => {
        windows[stream].push(chunk);
        return phase === "run" ? onOutput?.(stream, chunk) : undefined;
      },
    };
    const input = phase === "run" ? program.stdin : undefined;
    if (input instanceof Readable) return runStreamed(guest, { ...request, input });
    // The windows keep both ends of the output.
    return guest.run({ ...request, maxOutputBytes: 0, ...(input !== undefined && { input }) });
  }

  #showCompiler(failed: ProgramResult): ProgramResult {
    for (const stream of ["stdout", "stderr"] as const) {
      if (failed[stream]) this.#options.onOutput?.(stream, Buffer.from(failed[stream]));
    }
    return failed;
  }
}

function toResult(phase: Phase, result: ExecExit & { readonly usedUp: UsedUp | undefined }, windows: OutputWindows): ProgramResult {
  const { exitCode, signal, durationMs, timedOut, usedUp } = result;
  return {
    status: timedOut ? "timeout" : exitCode === 0 ? "success" : "error",
    windows,
    stdout: windows.stdout.text(),
    stderr: windows.stderr.text(),
    exitCode,
    signal,
    durationMs,
    truncated: windows.stdout.truncated || windows.stderr.truncated,
    outOfMemory: usedUp === "memory",
    diskFull: usedUp === "disk",
    refused: [],
    left: NO_LEFT_FILES,
    phase,
  };
}

interface StreamedRunOptions extends Omit<RunOptions, "input" | "maxOutputBytes" | "onOutput"> {
  /** Read only as fast as the program reads its stdin. The rest stays unread. */
  readonly input: Readable;
  /** May return a promise. That output stream waits until the promise settles. */
  readonly onOutput: (stream: "stdout" | "stderr", chunk: Buffer) => unknown;
}

/** Runs a command to its end with a stream as its stdin, with back-pressure in both directions. */
async function runStreamed(guest: Guest, { input, onOutput, ...options }: StreamedRunOptions): Promise<ExecExit> {
  await using command = await guest.exec(options);
  const carry = async (stream: "stdout" | "stderr") => {
    for await (const chunk of command[stream]) await onOutput(stream, chunk as Buffer);
  };
  // A program may end without reading its stdin. That is no failure.
  command.stdin.on("error", () => input.unpipe(command.stdin));
  input.pipe(command.stdin);
  try {
    const [exit] = await Promise.all([command.exited, carry("stdout"), carry("stderr")]);
    return exit;
  } finally {
    input.unpipe(command.stdin);
  }
}
