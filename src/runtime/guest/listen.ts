import { randomBytes } from "node:crypto";
import type { BelljarError } from "../../errors.ts";
import { encodeAddress } from "../../protocol/address.ts";
import { FRAME, OPERATION } from "../../protocol/wire.ts";
import { cancelled } from "./guest-errors.ts";
import type { GuestListener, ListenedConnection, SocketAddress } from "./guest.ts";
import type { Link } from "./link.ts";
import { ListenedPool } from "./listened-pool.ts";
import { ignore, openOperation, unexpected, type FrameHandler, type Operation } from "./operation.ts";

const WAITING_DEFAULT = 4;
/** Maximum number of connections of one listener that wait to be taken. Further connections are closed. */
const READY_MAX = 256;

export interface ListenOptions {
  readonly signal: AbortSignal;
  readonly waiting?: number;
}

/** The listeners of one guest connection. They all share one service inside, and the few streams that wait for its connections. */
export class Listeners {
  readonly #link: Link;
  readonly #service = randomBytes(16).toString("hex");
  readonly #byAddress = new Map<string, Listener>();
  #pool: ListenedPool | undefined;

  constructor(link: Link) {
    this.#link = link;
  }

  /** Resolves once the listener has its place in the line for its addresses. */
  async listen(addresses: readonly SocketAddress[], options: ListenOptions): Promise<GuestListener> {
    const fields = addresses.map((address) => ["ADDRESS", encodeAddress(address)] as const);
    const listener = new Listener({
      onHeld: () => this.#held(listener, addresses, options.waiting ?? WAITING_DEFAULT),
      onEnded: () => this.#ended(listener, addresses),
    });
    const request = { operation: OPERATION.LISTEN, fields: [["SERVICE", this.#service] as const, ...fields] };
    await openOperation(this.#link, request, listener, options.signal);
    await listener.inLine;
    return { held: listener.held, connections: listener };
  }

  #held(listener: Listener, addresses: readonly SocketAddress[], waiting: number): void {
    for (const address of addresses) this.#byAddress.set(keyOf(address), listener);
    this.#pool ??= new ListenedPool(this.#link, this.#service, {
      onConnection: (connection) => this.#dispatch(connection),
      onFailed: (error) => this.#poolFailed(error),
    });
    this.#pool.keepWaiting(waiting);
  }

  #ended(listener: Listener, addresses: readonly SocketAddress[]): void {
    for (const address of addresses) if (this.#byAddress.get(keyOf(address)) === listener) this.#byAddress.delete(keyOf(address));
    if (this.#byAddress.size > 0) return;
    this.#pool?.stop();
    this.#pool = undefined;
  }

  #dispatch(connection: ListenedConnection): void {
    const listener = this.#byAddress.get(keyOf(connection.local));
    if (listener) listener.take(connection);
    else connection.stream.destroy();
  }

  #poolFailed(error: BelljarError): void {
    this.#pool = undefined;
    for (const listener of new Set(this.#byAddress.values())) listener.end(error);
  }
}

function keyOf({ address, port }: SocketAddress): string {
  return `${address}:${port}`;
}

interface ListenerEvents {
  readonly onHeld: () => void;
  readonly onEnded: () => void;
}

/** One LISTEN stream, and the connections to its addresses that were not taken yet. */
class Listener implements FrameHandler, AsyncIterable<ListenedConnection> {
  readonly inLine: Promise<void>;
  readonly held: Promise<void>;
  readonly #events: ListenerEvents;
  readonly #ready: ListenedConnection[] = [];
  #settleInLine: Settle = NOBODY;
  #settleHeld: Settle = NOBODY;
  #operation: Operation | undefined;
  #isHeld = false;
  #error: BelljarError | undefined;
  #wake: () => void = ignore;

  constructor(events: ListenerEvents) {
    this.#events = events;
    this.inLine = new Promise((resolve, reject) => {
      this.#settleInLine = { resolve, reject };
    });
    this.held = new Promise((resolve, reject) => {
      this.#settleHeld = { resolve, reject };
    });
    // A caller may use only the connections, and never await `held`.
    this.held.catch(ignore);
  }

  opened(operation: Operation): void {
    this.#operation = operation;
  }

  frame(type: number): void {
    if (type === FRAME.EVENT) this.#settleInLine.resolve();
    else if (type === FRAME.STARTED && !this.#isHeld) this.#hold();
    else throw unexpected(type);
  }

  #hold(): void {
    this.#isHeld = true;
    this.#events.onHeld();
    this.#settleHeld.resolve();
  }

  failed(error: BelljarError): void {
    this.end(error);
  }

  end(error: BelljarError): void {
    if (this.#error) return;
    this.#error = error;
    this.#operation?.close();
    this.#events.onEnded();
    for (const { stream } of this.#ready.splice(0)) stream.destroy();
    this.#settleInLine.reject(error);
    this.#settleHeld.reject(error);
    this.#wake();
  }

  take(connection: ListenedConnection): void {
    if (this.#error || this.#ready.length >= READY_MAX) connection.stream.destroy();
    else this.#ready.push(connection);
    this.#wake();
  }

  /** Ends without an error when the signal aborts or the sandbox ends. Leaving the loop ends the listener. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ListenedConnection, void, undefined> {
    try {
      while (!this.#error) {
        const connection = this.#ready.shift();
        if (connection) yield connection;
        else await this.#more();
      }
      if (!QUIET.has(this.#error.code)) throw this.#error;
    } finally {
      this.end(cancelled());
    }
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

interface Settle {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

const NOBODY: Settle = { resolve: ignore, reject: ignore };
const QUIET: ReadonlySet<string> = new Set(["CANCELLED", "SANDBOX_ENDED"]);
