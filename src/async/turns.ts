import { BelljarError } from "../errors.ts";

/** Lets one at a time in, in the order in which they came. */
export class Turns {
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  constructor(waitingMax = Infinity) {
    this.#waitingMax = waitingMax;
  }

  get isBusy(): boolean {
    return this.#isTaken;
  }

  /** Held until it is disposed. Rejects with the signal's reason, or `PROCESS_LIMIT` when too many wait already. */
  async take(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#isTaken) await this.#wait(signal);
    this.#isTaken = true;
    return { [Symbol.dispose]: () => this.#pass() };
  }

  /** Works while it has the turn. Who gives up waiting leaves the turn of those behind it as it was. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    using _turn = await this.take(signal);
    return await work();
  }

  /** The turn goes straight to the next, so that nobody who comes now is before it. */
  #pass(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#isTaken = false;
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) {
      throw new BelljarError("PROCESS_LIMIT", `${this.#waitingMax} calls wait for this already; let them end first`);
    }
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal?.reason instanceof Error ? signal.reason : new BelljarError("CANCELLED", "The call was cancelled"));
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(enter);
    });
  }
}
