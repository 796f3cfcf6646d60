import { BelljarError } from "../errors.ts";

/** Gives turns to callers, one at a time, in order of arrival. */
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

  /** Takes the turn until it is disposed. Rejects with the signal's reason, or with `PROCESS_LIMIT` if too many callers wait already. */
  async take(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#isTaken) await this.#wait(signal);
    this.#isTaken = true;
    return { [Symbol.dispose]: () => this.#pass() };
  }

  /** Runs the work while it has the turn. A caller that gives up waiting does not change the order of the others. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    using _turn = await this.take(signal);
    return await work();
  }

  /** Hands the turn directly to the next waiting caller, so that no newcomer overtakes it. */
  #pass(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#isTaken = false;
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) {
      throw new BelljarError("PROCESS_LIMIT", `${this.#waitingMax} calls are waiting for this already; let some of them end first`);
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
