import { repeat } from "../async/repeat.ts";
import type { Principal } from "./sandbox.ts";

/** Calls of clients that keep no connection are shorter. So they cost a timer each, and no look at the home. */
const FIRST_MS = 1_000;
/** Default sandboxes are kept alive so many times in a lifetime: if this process is killed, most of the lifetime is left. */
const TIMES_A_LIFE = 3;

export interface ConnectedDefaultsOptions {
  /** Gives a default sandbox that runs its full lifetime again. Resolves with the lifetime, and with undefined if none runs. */
  readonly keep: (principal: Principal, name: string) => Promise<number | undefined>;
  /** Lifetime of a sandbox that is made later. */
  readonly lifetimeMs: number;
  readonly report: (problem: string) => void;
}

interface Connected {
  readonly keeping: AsyncDisposable;
  count: number;
  hasKept: boolean;
}

/**
 * Keeps the default sandboxes of connected clients alive. Their deadlines lie with their keepers, so each is moved again and again, and
 * once more when the last client has gone: from then on it counts.
 */
export class ConnectedDefaults implements AsyncDisposable {
  readonly #options: ConnectedDefaultsOptions;
  readonly #connected = new Map<string, Connected>();
  readonly #ending = new Set<Promise<unknown>>();

  constructor(options: ConnectedDefaultsOptions) {
    this.#options = options;
  }

  /** The default sandbox of that name is kept alive, if it runs, until what this returns is disposed. */
  hold(principal: Principal, name: string): Disposable {
    const key = `${principal.id}\0${name}`;
    const connected = this.#connected.get(key) ?? this.#connect(key, principal, name);
    connected.count += 1;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        connected.count -= 1;
        if (connected.count === 0) this.#disconnect(key, connected, () => this.#keep(principal, name));
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#ending);
    await Promise.all([...this.#connected.values()].map(({ keeping }) => keeping[Symbol.asyncDispose]()));
  }

  #connect(key: string, principal: Principal, name: string): Connected {
    const work = async (): Promise<number> => {
      connected.hasKept = true;
      return (await this.#keep(principal, name)) / TIMES_A_LIFE;
    };
    const connected: Connected = { keeping: repeat(work, FIRST_MS), count: 0, hasKept: false };
    this.#connected.set(key, connected);
    return connected;
  }

  #disconnect(key: string, { keeping, hasKept }: Connected, keep: () => Promise<unknown>): void {
    this.#connected.delete(key);
    const ending = Promise.resolve(keeping[Symbol.asyncDispose]())
      .then(() => (hasKept ? keep() : undefined))
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  async #keep(principal: Principal, name: string): Promise<number> {
    const { keep, lifetimeMs, report } = this.#options;
    try {
      return (await keep(principal, name)) ?? lifetimeMs;
    } catch (cause) {
      report(`The default sandbox ${JSON.stringify(name)} could not be kept alive: ${String(cause)}`);
      return lifetimeMs;
    }
  }
}
