import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import type { Socket } from "node:net";
import type { ErrorCode } from "../errors.ts";
import { BelljarError } from "../errors.ts";

export interface WorkerRequest {
  readonly job: string;
  readonly input: unknown;
}

/** `code`: the job failed with a foreseen error. `fault`: it failed with a bug. */
export type WorkerAnswer =
  | { readonly value: unknown }
  | { readonly code: ErrorCode; readonly message: string }
  | { readonly fault: string };

export interface WorkerOptions {
  /** Path of the program that runs the jobs. */
  readonly program: string;
  /** Maximum time of one job. */
  readonly timeoutMs: number;
  /** Maximum size of the process's heap. */
  readonly memoryMb: number;
}

/**
 * Ends a worker whose parent has ended, even by SIGKILL: its standard input is a pipe, which closes then. A separate thread waits for
 * that, because an endless job blocks the main thread. It reads a socket: a read of a file would
 * block the worker's own exit.
 */
const WATCH_PARENT = `
  import { Worker } from "node:worker_threads";
  const watch = 'new (require("node:net").Socket)({ fd: 0 }).on("close", () => process.kill(process.pid, "SIGKILL")).resume()';
  new Worker(watch, { eval: true }).unref();
`;

/**
 * A worker process. A thread would not suffice: V8 ends the whole process when the heap of one thread is full. The worker gets no
 * environment variables, and ends with its parent even during a job.
 */
export class WorkerProcess implements Disposable {
  readonly #options: WorkerOptions;
  readonly #child: ChildProcess;
  /** The reason of its kill. */
  #reason: unknown;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#child = fork(options.program, [], {
      serialization: "advanced",
      execArgv: [`--max-old-space-size=${options.memoryMb}`, "--import", `data:text/javascript,${encodeURIComponent(WATCH_PARENT)}`],
      env: {},
      stdio: ["pipe", "ignore", "ignore", "ipc"],
    });
    // Nothing is written to it. It must not keep this process alive.
    (this.#child.stdin as Socket).on("error", () => undefined).unref();
    // The request that is running reports the error.
    this.#child.on("error", () => undefined);
    this.#rest();
  }

  get isAlive(): boolean {
    return this.#child.connected && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Sends one request at a time. Rejects with the job's error, with `FILE_TOO_LARGE` if the job takes too much time or memory, or with the
   * signal's reason. In the last two cases the process has ended.
   */
  async ask(request: WorkerRequest, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const { timeoutMs } = this.#options;
    const abort = (): void => this.#kill(signal.reason);
    const timer = setTimeout(() => this.#kill(tooMuch(`${timeoutMs} ms`)), timeoutMs);
    signal.addEventListener("abort", abort, { once: true });
    this.#child.ref();
    this.#child.channel?.ref();
    try {
      return toValue(await this.#answer(request));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      this.#rest();
    }
  }

  [Symbol.dispose](): void {
    this.#kill(closing());
  }

  #answer(request: WorkerRequest): Promise<WorkerAnswer> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const settle = (then: () => void): void => {
        child.off("message", answered).off("exit", exited).off("error", failed);
        then();
      };
      const answered = (answer: unknown): void => settle(() => resolve(answer as WorkerAnswer));
      const exited = (code: number | null): void => settle(() => reject(this.#reason ?? this.#lost(code)));
      const failed = (error: unknown): void => settle(() => reject(this.#reason ?? error));
      child.on("message", answered).on("exit", exited).on("error", failed);
      // Failures come as events: `exit` if the process has ended, `error` if it did not start.
      child.send(request, () => undefined);
    });
  }

  /** V8 and the kernel end a process without memory by a signal. */
  #lost(code: number | null): Error {
    if (code === null) return tooMuch(`${this.#options.memoryMb} MB of memory`);
    return new Error(`The program ${this.#options.program} ended with code ${code}: is it built?`);
  }

  #kill(reason: unknown): void {
    this.#reason ??= reason;
    this.#child.kill("SIGKILL");
  }

  /** No request is running, so the worker must not keep this process alive. */
  #rest(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }
}

/** The error of jobs that were running or waiting when the pool was disposed. */
export function closing(): BelljarError {
  return new BelljarError("CANCELLED", "Belljar is closing");
}

function toValue(answer: WorkerAnswer): unknown {
  if ("value" in answer) return answer.value;
  if ("code" in answer) throw new BelljarError(answer.code, answer.message);
  throw new Error(answer.fault);
}

function tooMuch(what: string): BelljarError {
  const advice = "do it in smaller parts, or with a program inside the sandbox, by run_command";
  return new BelljarError("FILE_TOO_LARGE", `This takes more than ${what} for these texts: ${advice}`);
}
