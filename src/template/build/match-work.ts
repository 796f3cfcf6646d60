import { Slices } from "../../async/slices.ts";
import { BelljarError } from "../../errors.ts";

/** About a minute of a processor. What people write takes some thousand steps for a name at the most. */
const STEPS_MAX = 2_000_000_000;
/** Characters of a pattern. */
export const PATTERN_MAX = 256;

/** What one build takes to find files by patterns. Both patterns and names may be a stranger's, and others are served meanwhile. */
export class MatchWork {
  readonly signal: AbortSignal;
  readonly #slices: Slices;
  #left: number;

  constructor(signal: AbortSignal, stepsMax: number = STEPS_MAX) {
    this.signal = signal;
    this.#slices = new Slices(signal);
    this.#left = stepsMax;
  }

  /** Await it after each name. Rejects once the signal has come. */
  next(): Promise<void> | undefined {
    return this.#slices.next();
  }

  /** For `createPathPattern`. Throws `FILE_TOO_LARGE` beyond what a build may take. */
  readonly spend = (steps: number): void => {
    this.#left -= steps;
    if (this.#left >= 0) return;
    throw new BelljarError(
      "FILE_TOO_LARGE",
      "The patterns of .dockerignore and COPY take too long for so many names: use fewer or simpler ones",
    );
  };
}
