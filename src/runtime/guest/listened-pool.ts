import type { BelljarError } from "../../errors.ts";
import { parseAddress } from "../../protocol/address.ts";
import { FLAG, OPERATION } from "../../protocol/wire.ts";
import { asBelljarError } from "./guest-errors.ts";
import type { ListenedConnection } from "./guest.ts";
import type { Link } from "./link.ts";
import { openSocket, type OpenSocket } from "./socket.ts";

/** Connections at once, of one guest: programs inside wait in the kernel's queue for more. Below what the guest allows. */
const OPEN_MAX = 512;

const PASSING: ReadonlySet<string> = new Set(["PROCESS_LIMIT", "SANDBOX_PAUSED"]);
const NO_ADDRESS = Buffer.alloc(0);

export interface ListenedPoolEvents {
  readonly onConnection: (connection: ListenedConnection) => void;
  /** The pool has stopped. */
  readonly onFailed: (error: BelljarError) => void;
}

/** ACCEPT streams that wait for connections to what LISTEN holds: each one that was given a connection is replaced at once. */
export class ListenedPool {
  readonly #link: Link;
  readonly #service: string;
  readonly #events: ListenedPoolEvents;
  /** One controller a stream, so that the end of waiting is not the end of a connection that was taken. */
  readonly #waiting = new Set<AbortController>();
  #wanted = 0;
  #taken = 0;
  #isStopped = false;

  constructor(link: Link, service: string, events: ListenedPoolEvents) {
    this.#link = link;
    this.#service = service;
    this.#events = events;
  }

  /** The most that any listener asked for stands. */
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
    // The program waits for its connection, not for the next stream.
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

  /** A guest without room has it again when a connection closes, and a paused one goes on: the next change tries again. */
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
