import { createHash } from "node:crypto";
import type { Guest, ListenedConnection } from "../../runtime/guest/guest.ts";
import { BelljarError } from "../../errors.ts";
import { toIpv4 } from "../host-name.ts";

export interface NameAddressesOptions {
  readonly guest: Guest;
  /** Gets each connection, and owns it. */
  readonly take: (connection: ListenedConnection, host: string) => void;
  /** Maximum number of names at the same time. */
  readonly max: number;
}

interface NamedAddress {
  readonly host: string;
  readonly address: string;
  readonly ports: readonly number[];
  readonly listening: Promise<void>;
  readonly controller: AbortController;
  live: number;
}

const FIRST = 198 * 256 + 18;
const COUNT = 2 ** 17;

/**
 * Addresses inside that stand for names, for programs that use no proxy. Such a program resolves a name and connects to the address, which
 * tells the name. If there are too many names, the least recently resolved name without a connection is dropped.
 */
export class NameAddresses {
  readonly #options: NameAddressesOptions;
  /** The least recently resolved name comes first. */
  readonly #byHost = new Map<string, NamedAddress>();
  readonly #byAddress = new Map<string, NamedAddress>();

  constructor(options: NameAddressesOptions) {
    this.#options = options;
  }

  /** Returns the address of a name, once connections to the address are accepted. */
  async addressOf(host: string, ports: readonly number[]): Promise<string> {
    const known = this.#byHost.get(host);
    if (known && known.ports.join() !== ports.join()) this.#release(known);
    const named = (known && this.#byHost.get(host)) ?? this.#open(host, ports);
    this.#byHost.delete(host);
    this.#byHost.set(host, named);
    await named.listening;
    return named.address;
  }

  nameAt(address: string): string | undefined {
    return this.#byAddress.get(address)?.host;
  }

  close(): void {
    for (const named of this.#byHost.values()) this.#release(named);
  }

  #open(host: string, ports: readonly number[]): NamedAddress {
    this.#makeRoom();
    const address = this.#choose(host);
    const controller = new AbortController();
    const listening = this.#listen({ host, address, ports, signal: controller.signal });
    const named: NamedAddress = { host, address, ports, controller, listening, live: 0 };
    this.#byHost.set(host, named);
    this.#byAddress.set(address, named);
    listening.catch(() => this.#release(named));
    return named;
  }

  async #listen({
    host,
    address,
    ports,
    signal,
  }: {
    host: string;
    address: string;
    ports: readonly number[];
    signal: AbortSignal;
  }): Promise<void> {
    const addresses = ports.map((port) => ({ address, port }));
    const listener = await this.#options.guest.listen(addresses, { signal, waiting: 1 });
    await listener.held;
    void this.#takeAll(listener.connections, host, signal);
  }

  async #takeAll(connections: AsyncIterable<ListenedConnection>, host: string, signal: AbortSignal): Promise<void> {
    try {
      for await (const connection of connections) this.#take(connection, host);
    } catch {
      // The guest has ended, or the stream to it broke. The next lookup listens again.
    }
    const named = this.#byHost.get(host);
    // After a change of its ports, the name has another listener already.
    if (named?.controller.signal === signal) this.#release(named);
  }

  #take(connection: ListenedConnection, host: string): void {
    const named = this.#byHost.get(host);
    if (named) {
      named.live += 1;
      connection.stream.once("close", () => (named.live -= 1));
    }
    this.#options.take(connection, host);
  }

  #makeRoom(): void {
    if (this.#byHost.size < this.#options.max) return;
    const idle = [...this.#byHost.values()].find((named) => named.live === 0);
    if (!idle) throw new BelljarError("QUOTA_EXCEEDED", `At most ${this.#options.max} names can be connected to at once without a proxy`);
    this.#release(idle);
  }

  /** Derives the address from the name, so that a name usually keeps it: programs cache addresses for too long. */
  #choose(host: string): string {
    const start = createHash("sha256").update(host).digest().readUInt32BE();
    for (let step = 0; ; step++) {
      const offset = (start + step) % COUNT;
      const address = toIpv4(FIRST + (offset >> 16), offset & 0xffff);
      const isEdge = [0, 255].includes(offset & 255);
      if (!isEdge && !this.#byAddress.has(address)) return address;
    }
  }

  #release(named: NamedAddress): void {
    named.controller.abort();
    if (this.#byHost.get(named.host) === named) this.#byHost.delete(named.host);
    if (this.#byAddress.get(named.address) === named) this.#byAddress.delete(named.address);
  }
}
