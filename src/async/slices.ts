import { setImmediate } from "node:timers/promises";

const SLICE_MS = 5;
const SLICE_PIECES = 256;

/** Long work in slices: between two of them the other work of the process goes on, and the signal is looked at. */
export class Slices {
  readonly #signal: AbortSignal | undefined;
  #endsAt = performance.now() + SLICE_MS;
  #left = SLICE_PIECES;
  /** Of all that share the slices: each with a pause of its own would begin a slice of its own after it. */
  #pause: Promise<void> | undefined;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Await it after each piece of the work. Undefined unless the slice is over: very many small pieces need no promise each. */
  next(): Promise<void> | undefined {
    this.#left -= 1;
    return this.#left > 0 && performance.now() < this.#endsAt ? undefined : (this.#pause ??= this.#begin());
  }

  async #begin(): Promise<void> {
    await setImmediate();
    this.#pause = undefined;
    this.#signal?.throwIfAborted();
    this.#endsAt = performance.now() + SLICE_MS;
    this.#left = SLICE_PIECES;
  }
}
