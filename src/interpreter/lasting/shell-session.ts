import { randomBytes } from "node:crypto";
import { raceLasting } from "../../async/race-lasting.ts";
import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import type { ExecExit, ExecProcess, Sandbox } from "../../sandbox/sandbox.ts";
import type { OutputWindows } from "../output-window.ts";
import { withProgram } from "../missing-program.ts";
import { FencedOutput } from "./fenced-output.ts";
import type { LastingInterpreter } from "./lasting-interpreters.ts";

export interface ShellCommand {
  readonly command: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onOutput?: (chunk: Buffer) => void;
}

export interface ShellResult {
  readonly windows: OutputWindows;
  /** Exit code of the command or the shell. Undefined if a signal ended the shell. */
  readonly exitCode: number | undefined;
  /** The shell's current folder after the command. Undefined if the shell has ended. */
  readonly cwd: string | undefined;
  readonly timedOut: boolean;
  readonly ended: boolean;
}

/**
 * The shell reads its script from fd 3, and writes results back to it as fd 60. Commands write their output to fds 61 and 62. The shell
 * is interactive, so that SIGINT ends a command and not the shell. Its prompts and notices go to /dev/null.
 */
const START = "exec bash --noprofile --norc --noediting +H -i -s 60<&3 61>&1 62>&2 <&3 >/dev/null 2>/dev/null 3<&-";
const FIRST_LINE = "set +o history; unset HISTFILE\n";
const SIGINT = 2;
/** Time between the interrupt of a command and the kill of its shell. */
const INTERRUPT_MS = 2_000;
/** Room for a number and the longest path. */
const ANSWER_MAX_BYTES = 8_192;

/** One bash process that runs several commands, one at a time. It owns the exec. */
export class ShellSession implements LastingInterpreter<ShellCommand, ShellResult> {
  readonly #sandbox: Pick<Sandbox, "resume">;
  readonly #process: ExecProcess;
  readonly #stdout: FencedOutput;
  readonly #stderr: FencedOutput;
  readonly #ended: Promise<ExecExit>;
  #hasEnded = false;
  #answer: Buffer = Buffer.alloc(0);
  #answered: ((answer: readonly [string, string]) => void) | undefined;

  private constructor(process: ExecProcess, { sandbox, maxOutputBytes }: { sandbox: Pick<Sandbox, "resume">; maxOutputBytes: number }) {
    this.#sandbox = sandbox;
    this.#process = process;
    this.#stdout = new FencedOutput(maxOutputBytes);
    this.#stderr = new FencedOutput(maxOutputBytes);
    process.stdout.on("data", (chunk: Buffer) => this.#stdout.push(chunk));
    process.stderr.on("data", (chunk: Buffer) => this.#stderr.push(chunk));
    this.#channel.on("data", (chunk: Buffer) => this.#receive(chunk));
    this.#ended = process.exited.finally(() => (this.#hasEnded = true));
    // `run` awaits it and reports the error.
    this.#ended.catch(() => undefined);
    this.#channel.write(FIRST_LINE);
  }

  /** Rejects with `COMMAND_NOT_FOUND` if the sandbox has no bash. */
  static async open(sandbox: Sandbox, { maxOutputBytes, signal }: { maxOutputBytes: number; signal: AbortSignal }): Promise<ShellSession> {
    const exec = { argv: ["bash", "-c", START], channels: 1, stdin: false, env: { TERM: "dumb" }, signal };
    const process = await withProgram(sandbox, { program: "bash" }, () => sandbox.guest.exec(exec));
    return new ShellSession(process, { sandbox, maxOutputBytes });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Resolves when the shell has ended, for any reason. */
  async gone(): Promise<void> {
    await this.#ended.catch(() => undefined);
  }

  /**
   * Interrupts the command at its timeout, or when the caller cancels. If the shell does not return from the interrupt, it is killed.
   * Rejects if the caller cancels or the sandbox ends.
   */
  async run({ command, timeoutMs, signal, onOutput }: ShellCommand): Promise<ShellResult> {
    this.#stdout.onOutput = onOutput;
    this.#stderr.onOutput = onOutput;
    // A paused sandbox would not read what its open stream is given.
    await this.#sandbox.resume();
    try {
      const answering = this.#ask(command);
      const first = await settleWithin(answering, { timeoutMs, signal });
      const isLate = first === "late";
      const answer = isLate ? await this.#interrupt(answering) : first;
      if (answer) await this.#fence();
      const result = await this.#result(answer, isLate);
      signal.throwIfAborted();
      return result;
    } finally {
      this.#stdout.onOutput = undefined;
      this.#stderr.onOutput = undefined;
    }
  }

  /** Resolves with undefined if the shell ends instead of answering. */
  async #ask(command: string): Promise<readonly [string, string] | undefined> {
    const answered = new Promise<readonly [string, string]>((resolve) => (this.#answered = resolve));
    this.#channel.write(
      `builtin eval ${quote(command)} </dev/null >&61 2>&62 60<&- 61>&- 62>&-\nbuiltin printf '%s\\0%s\\0' "$?" "$PWD" >&60\n`,
    );
    const first = await raceLasting(this.#ended, answered);
    return "exitCode" in first ? undefined : first;
  }

  async #interrupt(answering: Promise<readonly [string, string] | undefined>) {
    this.#process.kill(SIGINT);
    const answer = await settleWithin(answering, { timeoutMs: INTERRUPT_MS });
    if (answer !== "late") return answer;
    await this.#end();
    return undefined;
  }

  /** Waits until all output of the command has been received. */
  async #fence(): Promise<void> {
    const mark = Buffer.from(`${randomBytes(16).toString("hex")}\n`);
    const fenced = Promise.all([this.#stdout.until(mark), this.#stderr.until(mark)]);
    this.#channel.write(`builtin echo ${mark.toString().trim()} >&61; builtin echo ${mark.toString().trim()} >&62\n`);
    const first = await settleWithin(raceLasting(this.#ended, fenced), { timeoutMs: INTERRUPT_MS });
    if (first === "late") await this.#end();
  }

  async #result(answer: readonly [string, string] | undefined, timedOut: boolean): Promise<ShellResult> {
    const [status, cwd] = answer ?? [];
    const exit = this.#hasEnded ? await this.#exit() : undefined;
    return {
      windows: { stdout: this.#stdout.take(), stderr: this.#stderr.take() },
      exitCode: status === undefined ? exit?.exitCode : Number(status),
      cwd: this.#hasEnded ? undefined : cwd,
      timedOut,
      ended: this.#hasEnded,
    };
  }

  /** Resolves with undefined if this session ended the exec. Rejects if the sandbox ended. */
  async #exit(): Promise<ExecExit | undefined> {
    try {
      return await this.#ended;
    } catch (error) {
      if (error instanceof BelljarError && error.code === "CANCELLED") return undefined;
      throw error;
    }
  }

  async #end(): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
    await this.gone();
  }

  get #channel() {
    const [channel] = this.#process.channels;
    if (!channel) throw new TypeError("A shell has one channel");
    return channel;
  }

  /** Reads `STATUS NUL CWD NUL`. Other bytes come from a program that has taken over the channel. Such a shell is killed. */
  #receive(chunk: Buffer): void {
    this.#answer = Buffer.concat([this.#answer, chunk]);
    const [status = "", cwd, rest] = this.#answer.toString("utf8").split("\0");
    if (rest === undefined && this.#answer.length <= ANSWER_MAX_BYTES) return;
    const answered = this.#answered;
    this.#answer = Buffer.alloc(0);
    this.#answered = undefined;
    if (answered && rest === "" && cwd !== undefined && /^\d{1,3}$/.test(status)) answered([status, cwd]);
    else void this.#process[Symbol.asyncDispose]();
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
