import { Readable } from "node:stream";
import { countOomKills, ranOutOfMemory } from "../sandbox/memory-watch.ts";
import type { ExecExit, Sandbox } from "../sandbox/sandbox.ts";
import type { Build, Language } from "./language.ts";
import { OutputWindow } from "./output-window.ts";
import { runStreamed } from "./streamed-run.ts";
import type { Program, ProgramResult, RunProgramOptions } from "./program.ts";

/** Where a program's files lie and where it runs. */
export interface ProgramFolder {
  readonly sandbox: Sandbox;
  /** Absent: the user's home. */
  readonly folder: string | undefined;
}

export interface Task {
  readonly place: ProgramFolder;
  readonly language: Language;
  readonly program: Program;
  readonly options: RunProgramOptions & Required<Pick<RunProgramOptions, "timeoutMs" | "maxOutputBytes">>;
}

type Phase = ProgramResult["phase"];

/** One program's one or two execs, which share one time limit. */
export class ProgramRun {
  readonly #task: Task;
  #usedMs = 0;
  #oomKills = 0;

  constructor(task: Task) {
    this.#task = task;
  }

  /** Compiles where the language says so, then runs. Rejects when the sandbox could not do it; a failure of the program is a result. */
  async execute(build: Build): Promise<ProgramResult> {
    const { language, place, program } = this.#task;
    // Nothing was killed yet in a sandbox of its own.
    if (place.folder !== undefined) this.#oomKills = await countOomKills(place.sandbox);
    const compile = language.compile?.(build);
    if (compile) {
      const compiled = await this.#exec("compile", compile);
      if (compiled.status !== "success") return compiled;
    }
    return this.#exec("run", [...language.run(build), ...(program.args ?? [])]);
  }

  async #exec(phase: Phase, argv: readonly string[]): Promise<ProgramResult> {
    const { place, language, program, options } = this.#task;
    const stdout = new OutputWindow(options.maxOutputBytes);
    const stderr = new OutputWindow(options.maxOutputBytes);
    const onOutput = (stream: "stdout" | "stderr", chunk: Buffer) => {
      (stream === "stdout" ? stdout : stderr).push(chunk);
      return phase === "run" ? options.onOutput?.(stream, chunk) : undefined;
    };
    const request = {
      argv,
      signal: options.signal,
      timeoutMs: Math.max(1, Math.ceil(options.timeoutMs - this.#usedMs)),
      env: { ...language.env, ...program.env },
      ...(place.folder !== undefined && { cwd: place.folder }),
      onOutput,
    };
    const stdin = phase === "run" ? program.stdin : undefined;
    const result = await (stdin instanceof Readable
      ? runStreamed(place.sandbox.guest, { ...request, input: stdin })
      : // The windows keep what is wanted of both ends.
        place.sandbox.guest.run({ ...request, maxOutputBytes: 0, ...(stdin !== undefined && { input: stdin }) }));
    this.#usedMs += result.durationMs;
    const outOfMemory = await this.#ranOutOfMemory(phase, result);
    const outcome = toResult(phase, { ...result, outOfMemory }, { stdout, stderr, durationMs: this.#usedMs });
    if (phase === "compile" && outcome.status !== "success") this.#showCompiler(outcome);
    return outcome;
  }

  #ranOutOfMemory(phase: Phase, result: ExecExit): Promise<boolean> {
    // A compiler's driver answers for a part of it that was killed with a code of its own.
    const signal = phase === "compile" && result.exitCode !== 0 ? "SIGKILL" : result.signal;
    return ranOutOfMemory(this.#task.place.sandbox, { ...result, signal }, this.#oomKills);
  }

  #showCompiler({ stdout, stderr }: ProgramResult): void {
    const { onOutput } = this.#task.options;
    if (stdout) onOutput?.("stdout", Buffer.from(stdout));
    if (stderr) onOutput?.("stderr", Buffer.from(stderr));
  }
}

function toResult(
  phase: Phase,
  result: ExecExit,
  { stdout, stderr, durationMs }: { stdout: OutputWindow; stderr: OutputWindow; durationMs: number },
): ProgramResult {
  return {
    status: result.timedOut ? "timeout" : result.exitCode === 0 ? "success" : "error",
    stdout: stdout.text(),
    stderr: stderr.text(),
    exitCode: result.exitCode,
    signal: result.signal,
    durationMs,
    truncated: stdout.truncated || stderr.truncated,
    outOfMemory: result.outOfMemory,
    phase,
  };
}
