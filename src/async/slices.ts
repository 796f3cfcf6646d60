import { setImmediate } from "node:timers/promises";

const SLICE_MS = 5;

/** Long work in slices: between two of them the other work of the process goes on. */
export class Slices {
  #endsAt = performance.now() + SLICE_MS;

  /** Await it after each piece of the work. Resolves at once unless the slice is over. */
  async next(): Promise<void> {
    if (performance.now() < this.#endsAt) return;
    await setImmediate();
    this.#endsAt = performance.now() + SLICE_MS;
  }
}
