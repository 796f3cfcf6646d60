import type { BelljarError } from "../../errors.ts";
import { parseAddress } from "../../protocol/address.ts";
import { FLAG, OPERATION } from "../../protocol/wire.ts";
import { asBelljarError } from "./guest-errors.ts";
import type { ListenedConnection } from "./guest.ts";
import type { Link } from "./link.ts";
import { openSocket, type OpenSocket } from "./socket.ts";

/** Maximum number of open connections of one guest, below its own limit. Further connections wait in the kernel's queue inside. */
const OPEN_MAX = 512;

const PASSING: ReadonlySet<string> = new Set(["PROCESS_LIMIT", "SANDBOX_PAUSED"]);
const NO_ADDRESS = Buffer.alloc(0);

export interface ListenedPoolEvents {
  readonly onConnection: (connection: ListenedConnection) => void;
  /** Called when an error has stopped the pool. */
  readonly onFailed: (error: BelljarError) => void;
}

/** The ACCEPT streams that wait for connections to the addresses of LISTEN. A stream that gets a connection is replaced at once. */
export class ListenedPool {
  readonly #link: Link;
  readonly #service: string;
  readonly #events: ListenedPoolEvents;
  /** Each waiting stream has its own controller, so that `stop` does not end connections that were taken. */
  readonly #waiting = new Set<AbortController>();
  #wanted = 0;
  #taken = 0;
  #isStopped = false;

  constructor(link: Link, service: string, events: ListenedPoolEvents) {
    this.#link = link;
    this.#service = service;
    this.#events = events;
  }

  /** Raises the number of waiting streams to `count`. It is never lowered. */
  keepWaiting(count: number): void {
    this.#wanted = Math.max(this.#wanted, count);
    this.#refill();
  }

  #refill(): void {
    while (!this.#isStopped && this.#waiting.size < this.#wanted && this.#waiting.size + this.#taken < OPEN_MAX) void this.#wait();
  }

  async #wait(): Promise<void> {
    const controller = new AbortController();
    this.#waiting.add(controller);
    try {
      const fields = [["SERVICE", this.#service] as const, ["FLAGS", FLAG.LISTENED] as const];
      const socket = await openSocket(this.#link, OPERATION.ACCEPT, fields, controller.signal);
      this.#waiting.delete(controller);
      this.#take(socket);
    } catch (error) {
      this.#waiting.delete(controller);
      this.#refused(asBelljarError(error));
    }
  }

  #take({ stream, fields, closed }: OpenSocket): void {
    this.#taken++;
    void closed.then(() => this.#closed());
    // Deferred: the program waits for its connection, not for the next stream.
    setImmediate(() => this.#refill());
    try {
      const local = parseAddress(fields.all("ADDRESS")[0] ?? NO_ADDRESS);
      if (this.#isStopped) stream.destroy();
      else this.#events.onConnection({ stream, local });
    } catch (error) {
      stream.destroy();
      throw error;
    }
  }

  #closed(): void {
    this.#taken--;
    this.#refill();
  }

  /** A guest has room again when a connection closes, and a paused one is resumed. Such a refusal waits for the next stream to change. */
  #refused(error: BelljarError): void {
    const isPassing = PASSING.has(error.code) && this.#taken + this.#waiting.size > 0;
    if (this.#isStopped || isPassing) return;
    this.stop();
    this.#events.onFailed(error);
  }

  stop(): void {
    this.#isStopped = true;
    for (const controller of this.#waiting) controller.abort();
  }
}
