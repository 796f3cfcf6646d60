import { Session } from "node:inspector";
import { Script } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import type { WatchData } from "./javascript/watch-state.ts";
import { BREAK, LEAVE, LISTENING, LOADED, MAY_LISTEN, PHASE, RUN } from "./javascript/watch-state.ts";

/**
 * The kernel's second thread: it hears SIGINT while a run awaits, also when the kernel's own thread is in an endless loop by then.
 * `breakOnSigint` is the one way in which a thread beside the main one hears of a signal: it breaks off the innermost such script.
 */
const BUSY_AFTER_MS = 100;
const ENDED_WITHIN_MS = 2_000;
/** The process dies of a signal that finds no such script. So they are nested: one that comes between two of them finds an outer one. */
const DEPTH = 8;

const { state, giveLeave } = workerData as WatchData;
const script = new Script("__enter()", { filename: "kernel:interrupts" });
Object.assign(globalThis, { __enter: enter });
let depth = 0;
let wasHeard = false;
let asked = 0;
let session: Session | undefined;

function enter(): never {
  const own = depth;
  for (;;) {
    depth = own + 1;
    if (depth > DEPTH) serve();
    try {
      script.runInThisContext({ breakOnSigint: true });
    } catch {
      wasHeard = true;
    }
  }
}

/** Goes on until a signal breaks it off, which may be at any place. */
function serve(): never {
  if (Atomics.compareExchange(state, PHASE, MAY_LISTEN, LISTENING) === MAY_LISTEN) Atomics.notify(state, PHASE);
  for (;;) {
    session?.disconnect();
    session = undefined;
    Atomics.store(state, LEAVE, 0);
    if (wasHeard) {
      wasHeard = false;
      interrupt(Atomics.load(state, RUN));
    } else {
      Atomics.wait(state, BREAK, asked);
      asked = Atomics.load(state, BREAK);
      interrupt(asked);
    }
  }
}

/** Tells the kernel. One that does not take the message runs the user's code all the while, and that is broken off. */
function interrupt(run: number): void {
  if (run === 0) return;
  parentPort?.postMessage(run);
  if (Atomics.wait(state, RUN, run, BUSY_AFTER_MS) !== "timed-out") return;
  session = new Session();
  session.connectToMainThread();
  breakOff(session, run);
  Atomics.wait(state, RUN, run, ENDED_WITHIN_MS);
}

/**
 * The kernel may be about to end the run, and broken off there it would never tell the end. So it is asked first, on top of what it
 * runs: it stands still there once it has given leave, until what breaks it off is on its way.
 */
function breakOff(kernel: Session, run: number): void {
  Atomics.store(state, LEAVE, run);
  kernel.post("Runtime.evaluate", { expression: `${giveLeave}(${run})`, silent: true });
  Atomics.wait(state, LEAVE, run, ENDED_WITHIN_MS);
  if (Atomics.load(state, LEAVE) === -run) kernel.post("Runtime.terminateExecution");
  Atomics.store(state, LEAVE, 0);
}

Atomics.store(state, PHASE, LOADED);
Atomics.notify(state, PHASE);
Atomics.wait(state, PHASE, LOADED);
enter();
