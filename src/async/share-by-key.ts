/** Runs at most one piece of work for each key at a time. A call that comes meanwhile shares its result or its failure. */
export class ShareByKey<T> {
  readonly #running = new Map<string, Promise<T>>();

  run(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.#running.get(key);
    if (known) return known;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  /** Resolves once all work that runs now has succeeded or failed. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }
}
