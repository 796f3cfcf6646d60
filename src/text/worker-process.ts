import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import type { Socket } from "node:net";
import type { ErrorCode } from "../errors.ts";
import { BelljarError } from "../errors.ts";

export interface WorkerRequest {
  readonly job: string;
  readonly input: unknown;
}

/** A code: the job failed as it may. A fault: it failed as it must not. */
export type WorkerAnswer =
  | { readonly value: unknown }
  | { readonly code: ErrorCode; readonly message: string }
  | { readonly fault: string };

export interface WorkerOptions {
  /** Path of the program that runs the jobs. */
  readonly program: string;
  /** Of one job. */
  readonly timeoutMs: number;
  /** Of the process's heap. */
  readonly memoryMb: number;
}

/**
 * Ends a worker whose parent is gone, kill -9 included: the pipe at its standard input closes then. A thread of its own waits for that,
 * since a job that never ends lets nothing else run.
 */
const WATCH_PARENT = `
  import { Worker } from "node:worker_threads";
  const watch = 'require("node:fs").createReadStream("", { fd: 0 }).on("close", () => process.kill(process.pid, "SIGKILL")).resume()';
  new Worker(watch, { eval: true }).unref();
`;

/**
 * A process that works for this one. A thread would not do: V8 ends the whole process when the heap of one thread is full. It gets no
 * environment, and ends with its parent, whatever it is doing.
 */
export class WorkerProcess implements Disposable {
  readonly #options: WorkerOptions;
  readonly #child: ChildProcess;
  /** Why it was killed. */
  #reason: unknown;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#child = fork(options.program, [], {
      serialization: "advanced",
      execArgv: [`--max-old-space-size=${options.memoryMb}`, "--import", `data:text/javascript,${encodeURIComponent(WATCH_PARENT)}`],
      env: {},
      stdio: ["pipe", "ignore", "ignore", "ipc"],
    });
    // Nothing is written to it, and it holds no process up.
    (this.#child.stdin as Socket).on("error", () => undefined).unref();
    // Whoever asks it something hears of it.
    this.#child.on("error", () => undefined);
    this.#rest();
  }

  get isAlive(): boolean {
    return this.#child.connected && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * One request at a time. Rejects as the job does, and with `FILE_TOO_LARGE` when it takes more time or memory than it may. Then, and
   * when the signal aborts, the process is gone.
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
      // A process that is gone says so by its exit; one that never came, by its error.
      child.send(request, () => undefined);
    });
  }

  /** V8 ends a process whose heap is full by a signal, and so does the kernel. */
  #lost(code: number | null): Error {
    if (code === null) return tooMuch(`${this.#options.memoryMb} MB of memory`);
    return new Error(`The program ${this.#options.program} ended with code ${code}: is it built?`);
  }

  #kill(reason: unknown): void {
    this.#reason ??= reason;
    this.#child.kill("SIGKILL");
  }

  /** Nothing waits for it: it holds no process up. */
  #rest(): void {
    this.#child.unref();
    this.#child.channel?.unref();
  }
}

/** Why work ends with the process that wanted it. */
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
