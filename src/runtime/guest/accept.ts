import { malformed } from "../../protocol/fields.ts";
import { OPERATION } from "../../protocol/wire.ts";
import type { AcceptedConnection } from "./guest.ts";
import type { Link } from "./link.ts";
import { openSocket, type OpenSocket } from "./socket.ts";

const WAITING_DEFAULT = 2;

export interface AcceptOptions {
  readonly signal: AbortSignal;
  readonly waiting?: number;
}

/**
 * Yields the connections that programs inside open. At most `waiting` streams are open and not taken; each taken stream is replaced.
 * An abort, or leaving the loop, ends it without an error. Taken connections stay open.
 */
export async function* acceptConnections(
  link: Link,
  service: string,
  options: AcceptOptions,
): AsyncGenerator<AcceptedConnection, void, undefined> {
  const acceptor = new Acceptor(link, service);
  const stop = (): void => acceptor.stop();
  options.signal.addEventListener("abort", stop);
  try {
    for (let count = 0; count < (options.waiting ?? WAITING_DEFAULT); count++) acceptor.wait();
    while (!options.signal.aborted) {
      const connection = await acceptor.next();
      if (!connection) return;
      acceptor.wait();
      yield connection;
    }
  } finally {
    options.signal.removeEventListener("abort", stop);
    acceptor.stop();
  }
}

class Acceptor {
  readonly #link: Link;
  readonly #service: string;
  /** Each waiting stream has its own controller, so that `stop` does not end connections that were taken. */
  readonly #waiting = new Set<AbortController>();
  readonly #ready: AcceptedConnection[] = [];
  #isStopped = false;
  #error: unknown;
  #wake: (() => void) | undefined;

  constructor(link: Link, service: string) {
    this.#link = link;
    this.#service = service;
  }

  wait(): void {
    const controller = new AbortController();
    this.#waiting.add(controller);
    openSocket(this.#link, OPERATION.ACCEPT, [["SERVICE", this.#service]], controller.signal)
      .then((socket) => this.#accepted(socket))
      .catch((error: unknown) => {
        this.#error ??= error;
      })
      .finally(() => {
        this.#waiting.delete(controller);
        this.#wake?.();
      });
  }

  #accepted({ stream, fields }: OpenSocket): void {
    const [uid, pid] = [fields.number("PEER_UID"), fields.number("PEER_PID")];
    if (!this.#isStopped && uid !== undefined && pid !== undefined) return void this.#ready.push({ stream, uid, pid });
    stream.destroy();
    if (!this.#isStopped) throw malformed("a connection without its peer");
    return undefined;
  }

  /** Returns undefined once the acceptor is stopped. */
  async next(): Promise<AcceptedConnection | undefined> {
    while (true) {
      if (this.#isStopped) return undefined;
      const connection = this.#ready.shift();
      if (connection) return connection;
      if (this.#error) throw this.#error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const controller of this.#waiting) controller.abort();
    for (const connection of this.#ready.splice(0)) connection.stream.destroy();
    this.#wake?.();
  }
}
