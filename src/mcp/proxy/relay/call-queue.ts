import { BelljarError } from "../../../errors.ts";

export interface CallQueueOptions {
  readonly server: string;
  /** How many are answered at once. */
  readonly concurrency: number;
  /** How many may wait for that. */
  readonly queue: number;
  /** A caller who may have all places; others have half of them at most. */
  readonly owner?: string;
}

/** Who waits, and how it gets its place. */
interface Waiting {
  readonly caller: string;
  readonly enter: () => void;
}

/**
 * Places for the calls of one server. A slow server fills its own queue, and no other's. A place goes to the caller who has the fewest, and of one
 * caller's calls to the one that came first. One caller has half of the places and a quarter of the queue.
 */
export class CallQueue {
  readonly #options: CallQueueOptions;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();
  /** How many places each caller has who has any. */
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(options: CallQueueOptions) {
    this.#options = options;
  }

  /** A place until it is disposed. Rejects with `SERVER_BUSY` if too many wait, and with the signal's reason. */
  async enter(caller: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#mayEnter(caller)) this.#take(caller);
    else await this.#wait(caller, signal);
    return { [Symbol.dispose]: () => this.#leave(caller) };
  }

  #mayEnter(caller: string): boolean {
    const { concurrency, owner } = this.#options;
    const share = caller === owner ? concurrency : Math.ceil(concurrency / 2);
    return this.#all < concurrency && this.#of(caller) < share;
  }

  #of(caller: string): number {
    return this.#taken.get(caller) ?? 0;
  }

  #take(caller: string): void {
    this.#all += 1;
    this.#taken.set(caller, this.#of(caller) + 1);
  }

  /** Whoever waits goes before any newcomer, who cannot come in between. */
  #leave(caller: string): void {
    this.#all -= 1;
    const left = this.#of(caller) - 1;
    if (left > 0) this.#taken.set(caller, left);
    else this.#taken.delete(caller);
    const next = this.#next();
    if (!next) return;
    this.#take(next.caller);
    next.enter();
  }

  #next(): Waiting | undefined {
    let found: Waiting | undefined;
    for (const one of this.#waiting)
      if (this.#mayEnter(one.caller) && (!found || this.#of(one.caller) < this.#of(found.caller))) found = one;
    return found;
  }

  #wait(caller: string, signal: AbortSignal): Promise<void> {
    const { server, concurrency, queue } = this.#options;
    const own = [...this.#waiting].filter((one) => one.caller === caller).length;
    const isOwnFull = own >= Math.ceil(queue / 4);
    if (isOwnFull || this.#waiting.size >= queue) {
      const waiting = isOwnFull ? `${own} of yours wait` : `${queue} wait`;
      const problem = `The server "${server}" answers ${concurrency} calls, and ${waiting} already`;
      throw new BelljarError("SERVER_BUSY", `${problem}: call again later`);
    }
    return new Promise((resolve, reject) => {
      const go = (settle: () => void): void => {
        this.#waiting.delete(waiting);
        signal.removeEventListener("abort", giveUp);
        settle();
      };
      const waiting: Waiting = { caller, enter: () => go(resolve) };
      const giveUp = (): void => go(() => reject(signal.reason));
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(waiting);
    });
  }
}
