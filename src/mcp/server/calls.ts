import { settleWithin } from "../../async/settle-within.ts";

/** The tool calls in flight of one server, so that its end can stop them and wait for their clean-up. */
export interface Calls {
  /** Runs `work` with a signal that aborts with the caller's or when the server stops. */
  run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** As `run`, for a caller whose own controller ends the work. */
  track<T>(controller: AbortController, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /**
   * Lets calls end by themselves for at most `graceMs`, then aborts them, and what starts later. Resolves when nothing is in
   * flight, at latest a bounded time after the abort: one call that does not heed it must not keep the process.
   */
  stop(graceMs: number): Promise<void>;
}

const CLEAN_UP_MS = 10_000;

export function createCalls(): Calls {
  const inFlight = new Map<AbortController, Promise<unknown>>();
  let isAborted = false;

  function abort(): void {
    isAborted = true;
    for (const controller of inFlight.keys()) controller.abort();
  }
  async function settled(): Promise<void> {
    while (inFlight.size > 0) await Promise.allSettled(inFlight.values());
  }
  async function track<T>(controller: AbortController, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (isAborted) controller.abort();
    const promise = work(controller.signal);
    inFlight.set(controller, promise);
    try {
      return await promise;
    } finally {
      inFlight.delete(controller);
    }
  }
  return {
    track,
    async run(signal, work) {
      const controller = new AbortController();
      const forward = (): void => controller.abort(signal.reason);
      signal.addEventListener("abort", forward, { once: true });
      if (signal.aborted) forward();
      try {
        return await track(controller, work);
      } finally {
        signal.removeEventListener("abort", forward);
      }
    },
    async stop(graceMs) {
      if (graceMs > 0) await settleWithin(settled(), { timeoutMs: graceMs });
      abort();
      await settleWithin(settled(), { timeoutMs: CLEAN_UP_MS });
    },
  };
}
