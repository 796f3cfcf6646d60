import { settleWithin } from "../../async/settle-within.ts";
import { BelljarError } from "../../errors.ts";
import { holderOf } from "./relay/relay-context.ts";

/** Of one caller, whatever clients it has: others who share the server have theirs. */
const EACH_MAX = 8;
/** A start has a limit of its own. */
const LONGEST_MS = 3_600_000;

/** One run of something that serves calls. */
export interface Instance extends AsyncDisposable {
  /** Settles once it serves no more. */
  readonly ended: Promise<unknown>;
}

export interface InstancesOptions<One extends Instance> {
  readonly open: (signal: AbortSignal) => Promise<One>;
  /** One that serves nobody for so long ends. */
  readonly idleMs: number;
  /** For one more the one that was used least recently ends, if it serves nobody. */
  readonly most: number;
  /** A caller who may have all of them; others have a share. */
  readonly owner?: string;
  /** Called after the number of instances has changed. */
  readonly changed: () => void;
}

interface Held<One> {
  key: string;
  holder: string;
  readonly opening: Promise<One>;
  readonly giveUp: AbortController;
  instance?: One;
  users: number;
  idle?: NodeJS.Timeout;
}

/** Instances, one for each key, which start when they are needed. Disposing it ends them. */
export class Instances<One extends Instance> implements AsyncDisposable {
  readonly #options: InstancesOptions<One>;
  /** Least recently used first. */
  readonly #held = new Map<string, Held<One>>();
  readonly #ending = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: InstancesOptions<One>) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Ends those that there are, whomever they serve. Later ones are new. */
  async endAll(): Promise<void> {
    for (const key of this.#held.keys()) this.#end(key);
    await Promise.all(this.#ending);
  }

  /** The instance of `key` that serves nobody is that of `next` from now on, unless there is none, or `next` has one. */
  handOver(key: string, next: string): void {
    const held = this.#held.get(key);
    const holder = holderOf(next);
    if (!held || held.users > 0 || this.#held.has(next) || this.#isFull(holder)) return;
    this.#held.delete(key);
    this.#held.set(next, held);
    held.key = next;
    held.holder = holder;
  }

  /** The key of an instance that has not ended. */
  keyOf(instance: One): string | undefined {
    for (const held of this.#held.values()) if (held.instance === instance) return held.key;
    return undefined;
  }

  /** Rejects as the start and the work do, and with `QUOTA_EXCEEDED`. The start goes on for others if the signal aborts. */
  async use<T>(key: string, signal: AbortSignal, work: (instance: One) => Promise<T>): Promise<T> {
    const held = this.#hold(key);
    try {
      const instance = await this.#opened(held, signal);
      return await work(instance);
    } finally {
      this.#leave(held);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.endAll();
  }

  async #opened({ opening }: Held<One>, signal: AbortSignal): Promise<One> {
    const settled = await settleWithin(opening, { timeoutMs: LONGEST_MS, signal });
    if (settled === "late") signal.throwIfAborted();
    return opening;
  }

  #hold(key: string): Held<One> {
    if (this.#isClosed) throw new BelljarError("CANCELLED", "The servers are being closed");
    const known = this.#held.get(key);
    if (!known) this.#makeRoom(holderOf(key));
    const held = known ?? this.#open(key);
    // The last place is that of the latest.
    this.#held.delete(key);
    this.#held.set(key, held);
    clearTimeout(held.idle);
    held.users += 1;
    if (held.users === 1) this.#options.changed();
    return held;
  }

  #open(key: string): Held<One> {
    const giveUp = new AbortController();
    const held: Held<One> = { key, holder: holderOf(key), opening: this.#options.open(giveUp.signal), giveUp, users: 0 };
    const forget = (): void => void (this.#held.get(held.key) === held && this.#end(held.key));
    held.opening.then((instance) => {
      held.instance = instance;
      instance.ended.then(forget, forget);
    }, forget);
    return held;
  }

  #leave(held: Held<One>): void {
    held.users -= 1;
    if (held.users > 0 || this.#held.get(held.key) !== held) return;
    held.idle = setTimeout(() => this.#end(held.key), this.#options.idleMs).unref();
  }

  /** Throws `QUOTA_EXCEEDED` if all are in use, those of the caller or of everybody. */
  #makeRoom(holder: string): void {
    const { most } = this.#options;
    const own = this.#of(holder);
    const isOwnFull = this.#isFull(holder);
    if (!isOwnFull && this.#held.size < most) return;
    const idle = (isOwnFull ? own : [...this.#held.values()]).find(({ users }) => users === 0);
    if (idle) return this.#end(idle.key);
    const problem = isOwnFull ? `You have ${EACH_MAX} instances of this server` : `This server has ${most} instances`;
    throw new BelljarError("QUOTA_EXCEEDED", `${problem} that all answer calls or follow resources: wait until one is free`);
  }

  #isFull(holder: string): boolean {
    return holder !== this.#options.owner && this.#of(holder).length >= EACH_MAX;
  }

  #of(holder: string): readonly Held<One>[] {
    return [...this.#held.values()].filter((held) => held.holder === holder);
  }

  #end(key: string): void {
    const held = this.#held.get(key);
    if (!held) return;
    this.#held.delete(key);
    clearTimeout(held.idle);
    this.#options.changed();
    held.giveUp.abort();
    const ending = held.opening
      .then((instance) => instance[Symbol.asyncDispose]())
      // A start that failed has ended by itself, and what cannot be ended ends with this process.
      .catch(() => undefined)
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
