import { Script } from "node:vm";
import { Worker } from "node:worker_threads";
import { KERNEL } from "./rewrite.ts";
import type { WatchData } from "./watch-state.ts";
import { BREAK, LEAVE, MAY_LISTEN, PHASE, RUN, STARTING, STATE_BYTES } from "./watch-state.ts";

const START_MS = 5_000;
const SIGINT = "SIGINT";

/** What the kernel's global offers: to the script that runs a step, and to the thread. */
export interface Steps {
  step: () => unknown;
  giveLeave: (run: number) => void;
}

/**
 * SIGINT ends the run that goes on, and does nothing between runs.
 * Synchronous code is broken off by Node itself. What comes after an `await` needs a second thread, which takes the signal over.
 * It starts after the first run, or within it at the first `await`: it takes longer than most first runs.
 */
export class Interrupts {
  readonly #steps: Steps;
  readonly #onInterrupt: () => void;
  readonly #script = new Script(`${KERNEL}.step()`, { filename: "kernel:step" });
  #state = createState(0);
  readonly #heard = (): void => this.#onInterrupt();
  #thread: "none" | "started" | "listens" | "missing" = "none";

  /** `onInterrupt` is called when a run that awaits is interrupted, and may be called between runs. */
  constructor(steps: Steps, onInterrupt: () => void) {
    this.#steps = steps;
    this.#steps.giveLeave = (run) => this.#giveLeave(run);
    this.#onInterrupt = onInterrupt;
    process.on(SIGINT, this.#heard);
    this.#keepHandler();
  }

  /** Runs `step`, which SIGINT breaks off: then it throws an error for which `isInterrupt` is true. */
  breakable<Result>(step: () => Result): Result {
    this.#steps.step = step;
    return this.#script.runInThisContext({ breakOnSigint: true, displayErrors: false }) as Result;
  }

  isInterrupt(error: unknown): boolean {
    return error instanceof Error && (error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_INTERRUPTED";
  }

  /** The second thread takes the signal, so that it costs little to make a step breakable. */
  get isListening(): boolean {
    return this.#thread === "listens";
  }

  /** A run begins: from here on, an interrupt is for it. */
  begin(run: number): void {
    if (this.#thread === "started" && Atomics.load(this.#state, PHASE) !== STARTING) this.#handOver();
    Atomics.store(this.#state, RUN, run);
  }

  /** The run goes on after its synchronous part. A breakable step calls it, so that no interrupt falls between that and the thread. */
  goOn(): void {
    this.#startThread();
    if (this.#thread === "started") this.#handOver();
  }

  /**
   * A step was broken off, perhaps before it had the thread started: the thread sees to it that nothing that the step began keeps
   * the run from its end, such as awaits without end.
   */
  finishBreak(run: number): void {
    this.goOn();
    Atomics.store(this.#state, BREAK, run);
    Atomics.notify(this.#state, BREAK);
  }

  /** The run ends: from here on, an interrupt does nothing. */
  end(): void {
    Atomics.store(this.#state, RUN, 0);
    Atomics.notify(this.#state, RUN);
  }

  /** No run goes on. */
  rest(): void {
    this.#startThread();
  }

  #startThread(): void {
    if (this.#thread !== "none") return;
    // One that was broken off within its start knows the state of before, and waits there.
    this.#state = createState(Atomics.load(this.#state, RUN));
    const worker = openThread(this.#state);
    // Without the thread, a run is still interrupted while it awaits.
    this.#thread = worker ? "started" : "missing";
    worker?.on("error", (error) => {
      this.#thread = "missing";
      process.emitWarning(`The kernel cannot be interrupted in an endless loop: ${error.message}`);
    });
    worker?.on("message", (run) => {
      if (run === Atomics.load(this.#state, RUN)) this.#onInterrupt();
    });
  }

  /**
   * Runs on top of whatever the thread finds here, and only what a run that goes on has left there may be broken off.
   * It does not sleep: this thread may sleep below already, which no thread can do twice.
   */
  #giveLeave(run: number): void {
    const leave = Atomics.load(this.#state, RUN) === run ? -run : 0;
    if (Atomics.compareExchange(this.#state, LEAVE, run, leave) !== run) return;
    Atomics.notify(this.#state, LEAVE);
    while (leave !== 0 && Atomics.load(this.#state, LEAVE) === leave);
  }

  /** The thread takes the signal over. The kernel stands still meanwhile, so that no code of a run comes between. */
  #handOver(): void {
    // On a machine that is too busy for it, the next run that asks takes the thread.
    if (Atomics.wait(this.#state, PHASE, STARTING, START_MS) === "timed-out") return;
    this.#thread = "listens";
    Atomics.store(this.#state, PHASE, MAY_LISTEN);
    Atomics.notify(this.#state, PHASE);
    Atomics.wait(this.#state, PHASE, MAY_LISTEN, START_MS);
  }

  /**
   * A handler of the user's would take the signal from the kernel, and end it between runs.
   * Node takes handlers away while a step runs, and puts them back: then none may take the signal from the thread.
   */
  #keepHandler(): void {
    for (const method of ["on", "addListener", "prependListener"] as const) {
      const add = process[method] as (event: string, listener: () => void) => NodeJS.Process;
      Object.assign(process, {
        [method]: (event: string, listener: () => void) =>
          event === SIGINT && (listener !== this.#heard || this.isListening) ? process : Reflect.apply(add, process, [event, listener]),
      });
    }
    const count = process.listenerCount.bind(process);
    process.listenerCount = (event, ...rest) => (event === SIGINT && this.isListening ? 0 : count(event, ...rest));
  }
}

function createState(run: number): Int32Array {
  const state = new Int32Array(new SharedArrayBuffer(STATE_BYTES));
  state[RUN] = run;
  return state;
}

function openThread(state: Int32Array): Worker | undefined {
  try {
    const workerData: WatchData = { state, giveLeave: `${KERNEL}.giveLeave` };
    const worker = new Worker(new URL("./javascript-interrupts.mjs", import.meta.url), { workerData });
    worker.unref();
    return worker;
  } catch {
    return undefined;
  }
}
