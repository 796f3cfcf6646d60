import type { Resolver } from "./resolver.ts";

export interface PinnedNamesOptions {
  readonly resolver: Resolver;
  readonly timeoutMs: number;
  readonly pinMs: number;
  readonly now?: () => number;
}

interface Pin {
  readonly addresses: Promise<readonly string[]>;
  readonly until: number;
}

const NAMES_MAX = 1024;
/** Maximum number of concurrent lookups. Lookups of the host share a few threads, which unanswered names must not fill. */
const QUESTIONS_MAX = 2;

/**
 * The addresses of names in one sandbox. A name is resolved once and keeps its addresses for `pinMs`, so that the dialled addresses are
 * the judged addresses.
 */
export class PinnedNames {
  readonly #options: PinnedNamesOptions;
  readonly #pins = new Map<string, Pin>();
  readonly #now: () => number;
  /** Lookups that wait for their turn. */
  readonly #waiting = new Set<() => void>();
  #asked = 0;

  constructor(options: PinnedNamesOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Rejects if the name has no addresses, or if the lookup takes too long. */
  async resolve(host: string): Promise<readonly string[]> {
    const known = this.#pins.get(host);
    if (known && known.until > this.#now()) return known.addresses;
    const pin = { addresses: this.#ask(host), until: this.#now() + this.#options.pinMs };
    this.#pins.delete(host);
    this.#pins.set(host, pin);
    for (const [oldest] of this.#pins) if (this.#pins.size > NAMES_MAX) this.#pins.delete(oldest);
    pin.addresses.catch(() => this.#drop(host, pin));
    return pin.addresses;
  }

  /** Puts the address that answered first. */
  prefer(host: string, address: string, all: readonly string[]): void {
    const pin = this.#pins.get(host);
    if (!pin || all[0] === address) return;
    this.#pins.set(host, { ...pin, addresses: Promise.resolve([address, ...all.filter((other) => other !== address)]) });
  }

  forget(host: string): void {
    this.#pins.delete(host);
  }

  #drop(host: string, pin: Pin): void {
    if (this.#pins.get(host) === pin) this.#pins.delete(host);
  }

  #ask(host: string): Promise<readonly string[]> {
    const signal = AbortSignal.timeout(this.#options.timeoutMs);
    return new Promise((resolve, reject) => {
      const ask = (): void => {
        this.#waiting.delete(ask);
        this.#asked += 1;
        // A resolver may go on after the timeout. Its lookup counts until it settles.
        this.#options.resolver
          .resolve(host, signal)
          .finally(() => this.#answered())
          .then(resolve, reject);
      };
      const giveUp = (): void => {
        this.#waiting.delete(ask);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      if (this.#asked < QUESTIONS_MAX) ask();
      else this.#waiting.add(ask);
    });
  }

  #answered(): void {
    this.#asked -= 1;
    const [next] = this.#waiting;
    next?.();
  }
}
