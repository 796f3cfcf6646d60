import { isIPv4 } from "node:net";
import type { Guest, GuestListener, ListenedConnection, SocketAddress } from "../../runtime/guest/guest.ts";
import { allowancesOf } from "../check-policy.ts";
import type { NetworkPolicy } from "../policy.ts";
import type { Place } from "./refusal.ts";

export interface LoopbackListenersOptions {
  readonly guest: Guest;
  /** Gets each connection, and owns it. */
  readonly take: (connection: ListenedConnection, place: Place) => void;
  /** Addresses inside that are already in use by Belljar. */
  readonly taken: readonly SocketAddress[];
}

interface Wanted {
  readonly place: Place;
  readonly address: string;
}

/**
 * Opens the loopback ports of the host that a policy names, on the same addresses inside, because programs use no proxy for 127.0.0.1.
 * If a program inside already holds a port, the program keeps it.
 */
export class LoopbackListeners {
  readonly #options: LoopbackListenersOptions;
  readonly #open = new Map<string, AbortController>();

  constructor(options: LoopbackListenersOptions) {
    this.#options = options;
  }

  /** Resolves once programs can connect. Never rejects. */
  async follow(policy: NetworkPolicy): Promise<void> {
    const wanted = new Map(wantedBy(policy, this.#options.taken).map((one) => [keyOf(one), one]));
    for (const [key, controller] of this.#open) if (!wanted.has(key)) this.#close(key, controller);
    const missing = [...wanted].filter(([key]) => !this.#open.has(key));
    await Promise.all(missing.map(([key, one]) => this.#listen(key, one)));
  }

  close(): void {
    for (const [key, controller] of this.#open) this.#close(key, controller);
  }

  async #listen(key: string, { address, place }: Wanted): Promise<void> {
    const controller = new AbortController();
    this.#open.set(key, controller);
    try {
      const listener = await this.#options.guest.listen([{ address, port: place.port }], { signal: controller.signal, waiting: 1 });
      void this.#takeAll(listener, place, () => this.#close(key, controller));
    } catch {
      this.#close(key, controller);
    }
  }

  async #takeAll({ connections, held }: GuestListener, place: Place, ended: () => void): Promise<void> {
    held.catch(() => {});
    try {
      for await (const connection of connections) this.#options.take(connection, place);
    } catch {
      // The guest has ended, and its sandbox too.
    }
    ended();
  }

  #close(key: string, controller: AbortController): void {
    controller.abort();
    if (this.#open.get(key) === controller) this.#open.delete(key);
  }
}

function wantedBy(policy: NetworkPolicy, taken: readonly SocketAddress[]): readonly Wanted[] {
  const places = allowancesOf(policy).filter(
    ({ host, isExact }) => isExact && (host === "localhost" || (isIPv4(host) && host.startsWith("127."))),
  );
  return places
    .map(({ host, port }) => ({ place: { host, port }, address: host === "localhost" ? "127.0.0.1" : host }))
    .filter(({ place, address }) => !taken.some((other) => other.address === address && other.port === place.port));
}

function keyOf({ address, place }: Wanted): string {
  return `${address}:${place.port}`;
}
