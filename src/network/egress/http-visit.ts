import type { Duplex } from "node:stream";
import type { ConnectionRecord } from "../connection-record.ts";
import { refuseStream } from "./answer-refusal.ts";
import type { Gate } from "./gate.ts";
import type { HttpOrigin } from "./http-target.ts";
import { Refusal } from "./refusal.ts";
import { UpstreamAgent, type UpstreamTrust } from "./upstream-agent.ts";

export interface HttpVisitOptions {
  readonly gate: Gate;
  readonly via: ConnectionRecord["via"];
  /** Target of the tunnel. Absent on the proxy's own port. */
  readonly fixed?: HttpOrigin;
  readonly trust: UpstreamTrust;
  /** Handles a CONNECT, and owns its stream. Absent if CONNECT is not allowed. `authority` is as the client wrote it. */
  readonly connect?: (authority: string, stream: Duplex) => void;
}

/** A request that is not answered yet. */
export interface PendingRequest {
  /** Called when the connection was idle for too long. */
  expire(): void;
}

/** One HTTP connection of a client, with its timeout and its kept connection to the outside. */
export class HttpVisit {
  readonly gate: Gate;
  readonly via: ConnectionRecord["via"];
  readonly fixed: HttpOrigin | undefined;
  readonly connect: HttpVisitOptions["connect"];
  readonly #stream: Duplex;
  readonly #trust: UpstreamTrust;
  #timer: NodeJS.Timeout | undefined;
  #agent: { readonly key: string; readonly agent: UpstreamAgent } | undefined;
  readonly #exchanges = new Set<PendingRequest>();
  #isFirst = true;

  constructor(stream: Duplex, { gate, via, fixed, trust, connect }: HttpVisitOptions) {
    this.connect = connect;
    this.#stream = stream;
    this.gate = gate;
    this.via = via;
    this.fixed = fixed;
    this.#trust = trust;
    stream.once("close", () => this.#close());
    this.#limit(gate.limits.headMs);
  }

  /** Number of requests that are not answered yet. */
  get exchanges(): number {
    return this.#exchanges.size;
  }

  began(exchange: PendingRequest): void {
    this.#isFirst = false;
    this.#exchanges.add(exchange);
    this.#limit(this.gate.limits.idleMs);
  }

  /** Called when bytes have moved. Restarts the timeout. */
  touch(): void {
    this.#timer?.refresh();
  }

  ended(exchange: PendingRequest): void {
    this.#exchanges.delete(exchange);
    if (this.#exchanges.size === 0) this.#limit(this.gate.limits.headMs);
  }

  /** The connection is no longer HTTP. The new owner is responsible for timeouts. */
  leave(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Keeps one connection to one place. While it is in use, requests to other places get connections of their own. */
  agentFor({ place, scheme }: HttpOrigin): UpstreamAgent {
    const key = `${this.gate.generation} ${scheme}://${place.host} ${place.port}`;
    if (this.#agent?.key === key) return this.#agent.agent;
    if (this.#agent && this.#exchanges.size > 1) return new UpstreamAgent(this.#trust, false);
    this.#agent?.agent.destroy();
    this.#agent = { key, agent: new UpstreamAgent(this.#trust, true) };
    return this.#agent.agent;
  }

  #limit(milliseconds: number): void {
    clearTimeout(this.#timer);
    if (this.#stream.destroyed) return;
    this.#timer = setTimeout(() => this.#expire(), milliseconds);
  }

  #expire(): void {
    if (this.#exchanges.size > 0) {
      for (const exchange of this.#exchanges) exchange.expire();
      return;
    }
    if (!this.#isFirst) return void this.#stream.destroy();
    const refusal = new Refusal("too-slow", "The head of the request did not come in time.");
    this.gate.refuse({ via: this.via, place: this.fixed?.place ?? { host: "", port: 0 } }, refusal);
    return refuseStream(this.#stream, refusal);
  }

  #close(): void {
    this.leave();
    this.#agent?.agent.destroy();
  }
}
