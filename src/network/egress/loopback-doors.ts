import { isIPv4 } from "node:net";
import type { Guest, GuestListener, ListenedConnection, SocketAddress } from "../../runtime/guest/guest.ts";
import { grantsOf } from "../check-policy.ts";
import type { NetworkPolicy } from "../policy.ts";
import type { Place } from "./refusal.ts";

export interface LoopbackDoorsOptions {
  readonly guest: Guest;
  /** Owns the connection. */
  readonly take: (connection: ListenedConnection, place: Place) => void;
  /** Addresses inside that serve something else. */
  readonly taken: readonly SocketAddress[];
}

interface Door {
  readonly place: Place;
  readonly address: string;
}

/**
 * Ports of the host's own loopback that a policy names, on the same address inside: programs use no proxy for 127.0.0.1.
 * Where a program inside holds the port already, it keeps it.
 */
export class LoopbackDoors {
  readonly #options: LoopbackDoorsOptions;
  readonly #open = new Map<string, AbortController>();

  constructor(options: LoopbackDoorsOptions) {
    this.#options = options;
  }

  /** Resolves once programs can connect. Never rejects. */
  async follow(policy: NetworkPolicy): Promise<void> {
    const doors = new Map(doorsOf(policy, this.#options.taken).map((door) => [keyOf(door), door]));
    for (const [key, controller] of this.#open) if (!doors.has(key)) this.#close(key, controller);
    const missing = [...doors].filter(([key]) => !this.#open.has(key));
    await Promise.all(missing.map(([key, door]) => this.#listen(key, door)));
  }

  close(): void {
    for (const [key, controller] of this.#open) this.#close(key, controller);
  }

  async #listen(key: string, door: Door): Promise<void> {
    const controller = new AbortController();
    this.#open.set(key, controller);
    const address = { address: door.address, port: door.place.port };
    try {
      const listener = await this.#options.guest.listen([address], { signal: controller.signal, waiting: 1 });
      void this.#takeAll(listener, door, () => this.#close(key, controller));
    } catch {
      this.#close(key, controller);
    }
  }

  async #takeAll({ connections, held }: GuestListener, { place }: Door, ended: () => void): Promise<void> {
    held.catch(() => {});
    try {
      for await (const connection of connections) this.#options.take(connection, place);
    } catch {
      // The guest has gone, and its sandbox with it.
    }
    ended();
  }

  #close(key: string, controller: AbortController): void {
    controller.abort();
    if (this.#open.get(key) === controller) this.#open.delete(key);
  }
}

function doorsOf(policy: NetworkPolicy, taken: readonly SocketAddress[]): readonly Door[] {
  const places = grantsOf(policy).filter(
    ({ host, isExact }) => isExact && (host === "localhost" || (isIPv4(host) && host.startsWith("127."))),
  );
  return places
    .map(({ host, port }) => ({ place: { host, port }, address: host === "localhost" ? "127.0.0.1" : host }))
    .filter(({ place, address }) => !taken.some((other) => other.address === address && other.port === place.port));
}

function keyOf({ address, place }: Door): string {
  return `${address}:${place.port}`;
}
