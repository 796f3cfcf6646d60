import { TurnsByKey } from "./turns-by-key.ts";

/** One caller of a piece of work. */
export interface Asking<Item> {
  readonly item: Item;
  readonly signal: AbortSignal;
}

interface Batch<Item> {
  readonly asking: Asking<Item>[];
  readonly done: Promise<void>;
}

/**
 * Does work for each key, one piece at a time. All callers that come before a piece begins share it, with its failure. A caller that comes
 * after that waits for the next piece. Callers that have gone by the beginning have no part in it. Without any caller nothing is done.
 */
export class BatchByKey<Item> {
  readonly #turns = new TurnsByKey();
  /** The piece that has not begun. */
  readonly #next = new Map<string, Batch<Item>>();
  readonly #work: (key: string, items: readonly Item[]) => Promise<void>;

  constructor(work: (key: string, items: readonly Item[]) => Promise<void>) {
    this.#work = work;
  }

  /** Rejects with the signal's reason as soon as that aborts. The work then goes on. */
  async run(key: string, asking: Asking<Item>): Promise<void> {
    asking.signal.throwIfAborted();
    const next = this.#next.get(key) ?? this.#open(key);
    next.asking.push(asking);
    await orAbort(next.done, asking.signal);
  }

  #open(key: string): Batch<Item> {
    const asking: Asking<Item>[] = [];
    // A turn never begins at once, so the batch is in the map before it is taken out.
    const done = this.#turns.run(key, async () => {
      this.#next.delete(key);
      const items = asking.flatMap(({ item, signal }) => (signal.aborted ? [] : [item]));
      if (items.length > 0) await this.#work(key, items);
    });
    done.catch(() => undefined); // all callers may have gone
    const batch = { asking, done };
    this.#next.set(key, batch);
    return batch;
  }
}

async function orAbort(work: Promise<void>, signal: AbortSignal): Promise<void> {
  let leave: () => void = () => undefined;
  const aborted = new Promise<void>((resolve) => (leave = resolve));
  signal.addEventListener("abort", leave, { once: true });
  try {
    await Promise.race([work, aborted]);
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
