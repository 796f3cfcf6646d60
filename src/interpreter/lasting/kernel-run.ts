import { settleWithin } from "../../async/settle-within.ts";
import type { KeptProcess } from "../../sandbox/sandbox.ts";
import type { OutputWindows } from "../output-window.ts";
import { FencedOutput } from "./fenced-output.ts";
import type { KernelMessage, MediaData } from "./kernel-lines.ts";
import { kernelLines } from "./kernel-lines.ts";

/** What a run shows beside its output, in the order in which it came. */
export interface ShownValue {
  /** `result`: the value of the last expression. */
  readonly type: "result" | "display";
  /** By media type: base64 for pictures, JSON for `application/json` and `+json`, else text. */
  readonly data: MediaData;
}

export interface CodeError {
  readonly name: string;
  readonly message: string;
  readonly traceback: string;
}

/** What a run says, as it comes. `begun`: the kernel has taken it up. */
export type CodeEvent =
  | { readonly type: "begun" }
  | { readonly type: "output"; readonly stream: "stdout" | "stderr"; readonly chunk: Buffer }
  | { readonly type: "value"; readonly value: ShownValue }
  | { readonly type: "error"; readonly error: CodeError };

/**
 * Whoever follows a run. While a promise that it gave is pending nothing more of the run is read, so that the code may have to wait. The
 * promise must not reject, and must settle when `signal` aborts.
 */
export type CodeFollower = (event: CodeEvent) => Promise<void> | undefined;

/** What a kernel answered to one run. */
export interface KernelAnswer {
  readonly windows: OutputWindows;
  readonly values: readonly ShownValue[];
  /** Values that were left out: too many, or too large together. */
  readonly more: number;
  readonly error: CodeError | undefined;
  /** Of a shell's last command. */
  readonly exitCode: number | undefined;
  readonly executionCount: number | undefined;
  /**
   * `done`: the kernel is ready for the next run. `ended`: it has ended. `silent`: it did not begin the run, or did not stop when it was
   * interrupted; it must be killed. `paused`: its sandbox is paused, so nothing was done to it: without its stream it is interrupted when
   * it goes on.
   */
  readonly state: "done" | "ended" | "silent" | "paused";
  /** It took the run up. */
  readonly hasBegun: boolean;
  readonly interrupted: boolean;
}

export interface KernelRunOptions {
  readonly token: string;
  /** What is written to the channel. */
  readonly request: string;
  readonly timeoutMs: number;
  /** The code is interrupted when it aborts. */
  readonly signal: AbortSignal;
  /** Resolves with true when the sandbox answers, and at the latest when it counts as silent. False: it is paused. Never rejects. */
  readonly isAwake: () => Promise<boolean>;
  /** An earlier run may go on, which is interrupted until this one begins. It may hit this one, too. */
  readonly followsCut: boolean;
  /** How often the code is interrupted before it counts as stuck. */
  readonly interrupts: number;
  readonly maxOutputBytes: number;
  readonly onOutput?: ((chunk: Buffer) => void) | undefined;
  /** It alone is given the values, however many there are: the answer has none. */
  readonly follower?: CodeFollower | undefined;
}

const SIGINT = 2;
/** A kernel that is started anew imports what it needs within this time. */
const BEGIN_MS = 20_000;
/** A kernel begins within this time, unless an earlier run goes on or its sandbox is paused. */
const STALE_MS = 1_000;
/** Between the interrupt and the kill. */
const INTERRUPT_MS = 2_000;
/** What is still in the pipes when a kernel says that it is done. */
const FENCE_MS = 1_000;
const VALUES_MAX = 256;
const VALUES_MAX_BYTES = 16 * 1_048_576;
/** Of each part of an error. */
const ERROR_MAX_CHARACTERS = 65_536;

/** One run of a kernel, over the stream that has it. */
export class KernelRun {
  readonly #process: KeptProcess;
  readonly #options: KernelRunOptions;
  readonly #stdout: FencedOutput;
  readonly #stderr: FencedOutput;
  readonly #values: ShownValue[] = [];
  #valuesBytes = 0;
  #more = 0;
  #error: CodeError | undefined;
  #exitCode: number | undefined;
  #executionCount: number | undefined;
  #hasBegun = false;
  /** Promises of the follower that are pending. */
  #pending = 0;
  #released: () => void = ignore;
  #settle: { begun(): void; done(): void } = { begun: ignore, done: ignore };

  constructor(process: KeptProcess, options: KernelRunOptions) {
    this.#process = process;
    this.#options = options;
    this.#stdout = new FencedOutput(options.maxOutputBytes);
    this.#stderr = new FencedOutput(options.maxOutputBytes);
  }

  async run(): Promise<KernelAnswer> {
    const { request, token } = this.#options;
    const { channels, exited, stdout, stderr } = this.#process;
    const [channel] = channels;
    if (!channel) throw new TypeError("A kernel has one channel");
    const mark = Buffer.from(`${token}\n`);
    const fenced = Promise.all([this.#stdout.until(mark), this.#stderr.until(mark)]);
    const begun = new Promise<"begun">((resolve) => (this.#settle.begun = () => resolve("begun")));
    const done = new Promise<"done">((resolve) => (this.#settle.done = () => resolve("done")));
    const lines = kernelLines({ take: (message, size) => this.#take(message, size), skip: () => this.#skip() });
    // A pipe may be quicker than the channel, so what comes before "started" counts: it is of this run, but for what a lost one left.
    this.#stdout.onOutput = (chunk) => this.#tellOutput("stdout", chunk);
    this.#stderr.onOutput = (chunk) => this.#tellOutput("stderr", chunk);
    stdout.on("data", (chunk: Buffer) => this.#stdout.push(chunk));
    stderr.on("data", (chunk: Buffer) => this.#stderr.push(chunk));
    channel.on("data", (chunk: Buffer) => lines.push(chunk));
    const ended = exited.then(() => "ended" as const);
    // The sandbox may end when nobody waits any more.
    ended.catch(ignore);
    channel.write(request);
    // A caller that gives up is heard once the code runs: an interrupt before it would be lost.
    const first = await this.#begins(Promise.race([begun, ended]));
    if (first === "silent" || first === "paused") return this.#answer(first, false);
    const end = Promise.race([done, ended]);
    const { state, interrupted } = await this.#wait(end);
    if (state === "done") {
      await this.#release();
      await settleWithin(Promise.race([fenced, ended]), { timeoutMs: FENCE_MS });
      await this.#release();
    }
    return this.#answer(state, interrupted);
  }

  /** The run of a stream that was lost may still go on: its interrupt came before it had begun. */
  async #begins(first: Promise<"begun" | "ended">): Promise<"begun" | "ended" | "silent" | "paused"> {
    const { isAwake, followsCut, signal } = this.#options;
    for (let waited = 0; waited < BEGIN_MS; waited += STALE_MS) {
      const state = await settleWithin(first, { timeoutMs: STALE_MS });
      if (state !== "late") return state;
      if (!(await isAwake()) && signal.aborted) return "paused";
      if (followsCut) this.#process.kill(SIGINT);
    }
    return this.#givenUp();
  }

  async #wait(end: Promise<KernelAnswer["state"]>): Promise<Pick<KernelAnswer, "state" | "interrupted">> {
    const { timeoutMs, signal } = this.#options;
    const first = await settleWithin(end, { timeoutMs, signal });
    if (first !== "late") return { state: first, interrupted: false };
    return { state: await this.#interrupt(end), interrupted: true };
  }

  async #interrupt(end: Promise<KernelAnswer["state"]>): Promise<KernelAnswer["state"]> {
    const { interrupts, isAwake } = this.#options;
    // What is paused cannot stop, and nobody is to wake it for that.
    if (!(await isAwake())) return "paused";
    for (let count = 0; count < interrupts; count++) {
      this.#process.kill(SIGINT);
      const state = await settleWithin(end, { timeoutMs: INTERRUPT_MS / interrupts });
      if (state !== "late") return state;
    }
    return this.#givenUp();
  }

  /** It may have been paused meanwhile. */
  async #givenUp(): Promise<"silent" | "paused"> {
    return (await this.#options.isAwake()) ? "silent" : "paused";
  }

  #answer(state: KernelAnswer["state"], interrupted: boolean): KernelAnswer {
    this.#stdout.onOutput = this.#stderr.onOutput = undefined;
    return {
      windows: { stdout: this.#stdout.take(), stderr: this.#stderr.take() },
      values: this.#values,
      more: this.#more,
      error: this.#error,
      exitCode: this.#exitCode,
      executionCount: this.#executionCount,
      state,
      hasBegun: this.#hasBegun,
      interrupted,
    };
  }

  #take(message: KernelMessage, size: number): void {
    if (message.type === "started") return message.run === this.#options.token ? this.#begin() : undefined;
    if (!this.#hasBegun) return;
    switch (message.type) {
      case "prepared":
        return;
      case "stdout":
        return this.#stdout.insert(Buffer.from(message.text));
      case "stderr":
        return this.#stderr.insert(Buffer.from(message.text));
      case "display":
      case "result":
        return this.#keep({ type: message.type, data: message.data }, size);
      case "error":
        this.#error = { name: cut(message.name), message: cut(message.message), traceback: cut(message.traceback) };
        return this.#tell({ type: "error", error: this.#error });
      case "exit":
        this.#exitCode = message.code;
        return;
      case "done":
        if (message.run !== this.#options.token) return;
        this.#executionCount = message.execution_count;
        return this.#settle.done();
    }
  }

  /** Messages before it belong to nobody: to a run whose stream was lost, or to a thread between two runs. */
  #begin(): void {
    this.#hasBegun = true;
    this.#tell({ type: "begun" });
    this.#settle.begun();
  }

  #tellOutput(stream: "stdout" | "stderr", chunk: Buffer): void {
    this.#options.onOutput?.(chunk);
    this.#tell({ type: "output", stream, chunk });
  }

  #tell(event: CodeEvent): void {
    const taken = this.#options.follower?.(event);
    if (!taken) return;
    const { stdout, stderr, channels } = this.#process;
    const streams = [stdout, stderr, ...channels];
    if (this.#pending++ === 0) for (const stream of streams) stream.pause();
    void taken.then(() => {
      if (--this.#pending > 0) return;
      for (const stream of streams) stream.resume();
      this.#released();
    });
  }

  /** Resolves when everything is read again. */
  async #release(): Promise<void> {
    while (this.#pending > 0) await new Promise<void>((resolve) => (this.#released = resolve));
  }

  #skip(): void {
    if (this.#hasBegun) this.#more += 1;
  }

  #keep(value: ShownValue, size: number): void {
    if (this.#options.follower) return this.#tell({ type: "value", value });
    if (this.#values.length >= VALUES_MAX || this.#valuesBytes + size > VALUES_MAX_BYTES) {
      this.#more += 1;
      return;
    }
    this.#valuesBytes += size;
    this.#values.push(value);
  }
}

/** Both ends: a traceback ends with what went wrong. */
function cut(text: string): string {
  const half = ERROR_MAX_CHARACTERS / 2;
  return text.length <= ERROR_MAX_CHARACTERS ? text : `${text.slice(0, half)}\n[...]\n${text.slice(-half)}`;
}

function ignore(): void {}
