import { setImmediate } from "node:timers/promises";

const SLICE_MS = 5;
const SLICE_PIECES = 256;

/** Long work in slices: between two of them the other work of the process goes on, and the signal is looked at. */
export class Slices {
  readonly #signal: AbortSignal | undefined;
  #endsAt = performance.now() + SLICE_MS;
  #left = SLICE_PIECES;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Await it after each piece of the work. Resolves at once unless the slice is over. */
  async next(): Promise<void> {
    this.#left -= 1;
    if (this.#left > 0 && performance.now() < this.#endsAt) return;
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.#endsAt = performance.now() + SLICE_MS;
    this.#left = SLICE_PIECES;
  }
}
