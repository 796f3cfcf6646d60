import { Turns } from "./turns.ts";

/** Gives turns to callers, one at a time for each key, in order of arrival. A key without callers is forgotten. */
export class TurnsByKey {
  readonly #turns = new Map<string, Turns>();

  get size(): number {
    return this.#turns.size;
  }

  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const turns = this.#turns.get(key) ?? new Turns();
    this.#turns.set(key, turns);
    try {
      return await turns.run(work, signal);
    } finally {
      if (!turns.isBusy && this.#turns.get(key) === turns) this.#turns.delete(key);
    }
  }

  /** Resolves once all callers that have arrived until now have had their turns. */
  async idle(): Promise<void> {
    await Promise.all([...this.#turns.keys()].map((key) => this.run(key, async () => undefined)));
  }
}
