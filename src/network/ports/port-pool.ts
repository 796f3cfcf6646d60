import { Agent } from "node:http";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";

/** Opens a connection to a port inside. The signal applies to its whole life. */
export type DialPort = (signal: AbortSignal) => Promise<Duplex>;

type Connected = (error: Error | null, stream: Duplex) => void;

/** Servers commonly close a connection after five idle seconds. This side must close first. */
const IDLE_MS = 4_000;
const IDLE_MAX = 8;
/** Maximum number of concurrent requests and upgraded connections of one port. */
const ACTIVE_MAX = 512;

/** The connections to one port inside. Some are kept for later requests. It calls `onIdle` when it was unused for `IDLE_MS`. */
export class PortConnections {
  #dial: DialPort = notInUse;
  readonly #gone = new AbortController();
  readonly #onIdle: () => void;
  readonly #agent: Agent;
  #active = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(onIdle: () => void) {
    this.#onIdle = onIdle;
    // An http.Agent would call methods of TCP sockets, which a stream of the guest does not have.
    this.#agent = Object.assign(new Agent({ keepAlive: true, maxFreeSockets: IDLE_MAX }), {
      createConnection: this.connect,
      keepSocketAlive: () => true,
    });
  }

  /** Only for repeatable requests, because a kept connection may close while the request is sent. */
  get agent(): Agent {
    return this.#agent;
  }

  /** Opens a new connection, in the form that `http.request` needs. */
  readonly connect = (_options: unknown, done: Connected): undefined => {
    void this.#connect(done);
    return undefined;
  };

  async #connect(done: Connected): Promise<void> {
    try {
      const stream = await this.#dial(this.#gone.signal);
      // Node calls `destroySoon` when an answer ends before its request: nobody reads the rest of the request.
      // The http.Agent calls `ref` when it reuses a kept connection.
      done(null, Object.assign(stream, { destroySoon: () => stream.destroy(), ref: () => stream }));
    } catch (error) {
      (done as (error: unknown) => void)(error);
    }
  }

  /** Counts one exchange until the returned function is called. Later connections use `dial`. Throws `QUOTA_EXCEEDED`. */
  use(dial: DialPort): () => void {
    this.#dial = dial;
    if (this.#active >= ACTIVE_MAX) {
      throw new BelljarError("QUOTA_EXCEEDED", `This port has ${ACTIVE_MAX} connections already: close some, or wait for them`);
    }
    this.#active += 1;
    clearTimeout(this.#idle);
    let isDone = false;
    return () => {
      if (isDone) return;
      isDone = true;
      this.#active -= 1;
      if (this.#active === 0) this.#idle = setTimeout(this.#onIdle, IDLE_MS).unref();
    };
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#gone.abort();
    this.#agent.destroy();
  }
}

function notInUse(): never {
  throw new TypeError("A port was dialled without `use`");
}
