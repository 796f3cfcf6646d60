/** The tool calls in flight of one server, so that its end can stop them and wait for their clean-up. */
export interface Calls {
  /** Runs `work` with a signal that aborts with the caller's or with {@link Calls.abort}. */
  run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Aborts what runs now, and whatever starts later. */
  abort(): void;
  /** Resolves when nothing is in flight. */
  settled(): Promise<void>;
}

export function createCalls(): Calls {
  const inFlight = new Map<AbortController, Promise<unknown>>();
  let isAborted = false;
  return {
    async run(signal, work) {
      const controller = new AbortController();
      const forward = (): void => controller.abort(signal.reason);
      signal.addEventListener("abort", forward, { once: true });
      if (isAborted || signal.aborted) controller.abort(signal.reason);
      const promise = work(controller.signal);
      inFlight.set(controller, promise);
      try {
        return await promise;
      } finally {
        inFlight.delete(controller);
        signal.removeEventListener("abort", forward);
      }
    },
    abort() {
      isAborted = true;
      for (const controller of inFlight.keys()) controller.abort();
    },
    async settled() {
      while (inFlight.size > 0) await Promise.allSettled(inFlight.values());
    },
  };
}
