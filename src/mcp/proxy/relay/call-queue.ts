import { BelljarError } from "../../../errors.ts";

export interface CallQueueOptions {
  readonly server: string;
  /** How many are answered at once. */
  readonly concurrency: number;
  /** How many may wait for that. */
  readonly queue: number;
}

/**
 * Places for the calls of one server, in the order in which they came. A slow server fills its own queue, and no other's. One caller fills a quarter
 * of it.
 */
export class CallQueue {
  readonly #options: CallQueueOptions;
  /** Whose calls they are. */
  readonly #waiting = new Map<() => void, string>();
  #taken = 0;

  constructor(options: CallQueueOptions) {
    this.#options = options;
  }

  /** A place until it is disposed. Rejects with `SERVER_BUSY` if too many wait, and with the signal's reason. */
  async enter(caller: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#taken >= this.#options.concurrency) await this.#wait(caller, signal);
    else this.#taken += 1;
    return { [Symbol.dispose]: () => this.#leave() };
  }

  /** A place is handed on to whoever waits longest, so that no newcomer takes it. */
  #leave(): void {
    const [next] = this.#waiting.keys();
    if (next) next();
    else this.#taken -= 1;
  }

  #wait(caller: string, signal: AbortSignal): Promise<void> {
    const { server, concurrency, queue } = this.#options;
    const own = [...this.#waiting.values()].filter((one) => one === caller).length;
    const isOwnFull = own >= Math.ceil(queue / 4);
    if (isOwnFull || this.#waiting.size >= queue) {
      const waiting = isOwnFull ? `${own} of yours wait` : `${queue} wait`;
      const problem = `The server "${server}" answers ${concurrency} calls, and ${waiting} already`;
      throw new BelljarError("SERVER_BUSY", `${problem}: call again later`);
    }
    return new Promise((resolve, reject) => {
      const go = (settle: () => void): void => {
        this.#waiting.delete(enter);
        signal.removeEventListener("abort", giveUp);
        settle();
      };
      const enter = (): void => go(resolve);
      const giveUp = (): void => go(() => reject(signal.reason));
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.set(enter, caller);
    });
  }
}
