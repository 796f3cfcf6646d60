/** One piece of work for a key at a time: who comes while it runs shares it, its failure too. */
export class ShareByKey<T> {
  readonly #running = new Map<string, Promise<T>>();

  run(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.#running.get(key);
    if (known) return known;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  /** Resolves once what runs now is over, well or not. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }
}
