import { Agent } from "node:http";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";

/** Opens a connection to a port inside; the signal holds for its whole life. */
export type DialPort = (signal: AbortSignal) => Promise<Duplex>;

type Connected = (error: Error | null, stream: Duplex) => void;

/** Servers commonly close a connection that was idle for five seconds: ours must go first. */
const IDLE_MS = 4_000;
const IDLE_MAX = 8;
/** Requests and upgraded connections at one time, for one port of one sandbox. */
const ACTIVE_MAX = 512;

/** The connections to one port inside, some kept for the next request. Gone when it was idle for a while. */
export class PortConnections {
  #dial: DialPort = notInUse;
  readonly #gone = new AbortController();
  readonly #onIdle: () => void;
  readonly #agent: Agent;
  #active = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(onIdle: () => void) {
    this.#onIdle = onIdle;
    // What an http.Agent asks of TCP sockets there makes no sense for a stream of the guest.
    this.#agent = Object.assign(new Agent({ keepAlive: true, maxFreeSockets: IDLE_MAX }), {
      createConnection: this.connect,
      keepSocketAlive: () => true,
    });
  }

  /** For requests that may be sent again, since a kept connection can close as they leave. */
  get agent(): Agent {
    return this.#agent;
  }

  /** A connection of its own, as `http.request` wants one. */
  readonly connect = (_options: unknown, done: Connected): undefined => {
    void this.#connect(done);
    return undefined;
  };

  async #connect(done: Connected): Promise<void> {
    try {
      const stream = await this.#dial(this.#gone.signal);
      // An answer that ended before its request did ends both: nobody reads the rest.
      // `ref` is what the http.Agent asks for when it uses a kept one again.
      done(null, Object.assign(stream, { destroySoon: () => stream.destroy(), ref: () => stream }));
    } catch (error) {
      (done as (error: unknown) => void)(error);
    }
  }

  /** Counts one exchange, until the returned function is called. Throws `QUOTA_EXCEEDED`. What is dialled from now on is `dial`'s. */
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
  throw new TypeError("A port is dialled that nobody uses");
}
