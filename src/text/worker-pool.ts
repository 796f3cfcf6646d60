import type { WorkerOptions, WorkerRequest } from "./worker-process.ts";
import { closing, WorkerProcess } from "./worker-process.ts";

export interface WorkerPoolOptions extends WorkerOptions {
  /** Maximum number of processes. */
  readonly size: number;
  /** Time after which an unused process ends. */
  readonly idleMs: number;
}

export interface WorkerCall {
  /** The owner of the job. Each owner has one job at a time, so that its jobs do not keep other owners waiting. */
  readonly owner: string;
  readonly signal: AbortSignal;
}

interface Waiting {
  readonly owner: string;
  readonly enter: () => void;
}

/** A pool of worker processes with a queue. Processes start when there is work. Disposing the pool ends them. */
export class WorkerPool implements Disposable {
  readonly #options: WorkerPoolOptions;
  readonly #idle: WorkerProcess[] = [];
  readonly #busy = new Map<string, WorkerProcess | undefined>();
  readonly #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  /** Starts a process for a job that comes soon. */
  prepare(): void {
    if (this.#isClosed || this.#idle.length + this.#busy.size > 0) return;
    this.#idle.push(new WorkerProcess(this.#options));
    this.#restTimer();
  }

  /** Rejects with the job's error, with `FILE_TOO_LARGE` if the job takes too much time or memory, or with the signal's reason. */
  async run(request: WorkerRequest, { owner, signal }: WorkerCall): Promise<unknown> {
    await this.#enter(owner, signal);
    try {
      const worker = this.#take();
      this.#busy.set(owner, worker);
      return await worker.ask(request, signal);
    } finally {
      this.#leave(owner);
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const worker of [...this.#idle.splice(0), ...this.#busy.values()]) worker?.[Symbol.dispose]();
  }

  async #enter(owner: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#mayEnter(owner)) {
      this.#busy.set(owner, undefined);
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal.reason as Error);
      };
      const enter = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const waiting = { owner, enter };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiting);
    });
  }

  #mayEnter(owner: string): boolean {
    return this.#busy.size < this.#options.size && !this.#busy.has(owner);
  }

  /** Hands the place to the first waiting job whose owner has no running job. The other jobs of this owner go to the end of the queue. */
  #leave(owner: string): void {
    const worker = this.#busy.get(owner);
    this.#busy.delete(owner);
    if (worker?.isAlive) this.#idle.push(worker);
    this.#restTimer();
    const own = this.#waiting.filter((waiting) => waiting.owner === owner);
    const others = this.#waiting.filter((waiting) => waiting.owner !== owner);
    this.#waiting.splice(0, this.#waiting.length, ...others, ...own);
    const next = this.#waiting.findIndex((waiting) => this.#mayEnter(waiting.owner));
    const [first] = next < 0 ? [] : this.#waiting.splice(next, 1);
    if (!first) return;
    this.#busy.set(first.owner, undefined);
    first.enter();
  }

  #take(): WorkerProcess {
    if (this.#isClosed) throw closing();
    for (let worker = this.#idle.pop(); worker; worker = this.#idle.pop()) if (worker.isAlive) return worker;
    return new WorkerProcess(this.#options);
  }

  #restTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      for (const worker of this.#idle.splice(0)) worker[Symbol.dispose]();
    }, this.#options.idleMs).unref();
  }
}
