/** Work that has an owner: disposing it aborts what runs, waits for it, and lets nothing else begin. */
export class OwnedWork implements AsyncDisposable {
  readonly #running = new Map<AbortController, Promise<unknown>>();
  #isClosed = false;

  /** The work's signal aborts as the given one does, and when the owner is disposed. Rejects as the work does, and at once after that. */
  async run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw closing();
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      const running = work(controller.signal);
      this.#running.set(controller, running);
      return await running;
    } finally {
      this.#running.delete(controller);
      signal.removeEventListener("abort", abort);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const controller of this.#running.keys()) controller.abort(closing());
    await Promise.allSettled(this.#running.values());
  }
}

function closing(): DOMException {
  return new DOMException("What it ran in is being closed", "AbortError");
}
