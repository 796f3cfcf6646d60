import type { Duplex } from "node:stream";
import type { GuestListener, ListenedConnection, SocketAddress } from "../../runtime/guest/guest.ts";
import type { ConnectionRecord } from "../connection-record.ts";
import type { EgressSandbox, EgressService, EgressState } from "../egress.ts";
import { parseAuthority } from "../host-name.ts";
import { endSoon } from "../http/end-soon.ts";
import { refuseStream } from "./answer-refusal.ts";
import type { Allowance } from "./bounds.ts";
import { Gate, type GateOptions } from "./gate.ts";
import type { HttpProxy } from "./http-proxy.ts";
import { badRequest } from "./http-target.ts";
import { LoopbackListeners } from "./loopback-listeners.ts";
import { NameAddresses } from "./name-addresses.ts";
import { serveNames } from "./name-service.ts";
import { type Place, Refusal } from "./refusal.ts";
import { readSocksRequest, SOCKS_ANSWER } from "./socks.ts";
import { tlsAlert } from "./tls-alert.ts";
import { openTunnel, type TunnelAnswer } from "./tunnel.ts";
import type { UpstreamTrust } from "./upstream-agent.ts";

/** Addresses inside where programs find the way out. */
export const PROXY_ADDRESSES = {
  http: { address: "127.0.0.1", port: 3128 },
  socks: { address: "127.0.0.1", port: 1080 },
  names: { address: "127.0.0.1", port: 53 },
} as const satisfies Record<string, SocketAddress>;

export interface SandboxEgressOptions extends Omit<GateOptions, "nameAt"> {
  readonly proxy: HttpProxy;
  readonly trust: UpstreamTrust;
  /** Called once the service has ended. */
  readonly closed: () => void;
}

interface Listening {
  readonly controller: AbortController;
  readonly names: NameAddresses;
  readonly loopback: LoopbackListeners;
  readonly served: Promise<void>;
}

const NOWHERE: Place = { host: "", port: 0 };
const WAITING = 4;
const LISTEN_AGAIN_MS = 1_000;
/** Maximum number of refused connections at a time that get an answer. Further ones are closed without one. */
const TOLD_MAX = 64;

/** The way out of one sandbox. It listens inside while the policy is not `none`. */
export class SandboxEgress implements EgressService {
  readonly #sandbox: EgressSandbox;
  readonly #options: SandboxEgressOptions;
  readonly #gate: Gate;
  readonly #streams = new Set<Duplex>();
  #state: EgressState;
  #listening: Listening | undefined;
  #ready: Promise<void> = Promise.resolve();
  #told = 0;
  #excessRecordedAt = 0;
  #isClosed = false;

  constructor(sandbox: EgressSandbox, state: EgressState, options: SandboxEgressOptions) {
    this.#sandbox = sandbox;
    this.#options = options;
    this.#state = state;
    this.#gate = new Gate({ ...options, nameAt: (address) => this.#listening?.names.nameAt(address) }, state);
    this.#follow(state);
  }

  get ready(): Promise<void> {
    return this.#ready;
  }

  update(state: EgressState): void {
    if (this.#isClosed) return;
    this.#state = state;
    this.#gate.update(state);
    this.#follow(state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
  }

  #follow({ policy, answersClosed = false }: EgressState): void {
    if (policy === "none" && !answersClosed) return this.#stopListening();
    const listening = this.#listen();
    this.#ready = settle(listening.served, listening.loopback.follow(policy));
    // Nobody has to await `ready`.
    this.#ready.catch(() => {});
  }

  #listen(): Listening {
    if (this.#listening) return this.#listening;
    const controller = new AbortController();
    const { guest } = this.#sandbox;
    const takePlace = (connection: ListenedConnection, place: Place): void =>
      this.#admit(connection, (stream) => this.#takePlace(stream, place));
    const take = (connection: ListenedConnection, host: string): void => takePlace(connection, { host, port: connection.local.port });
    const names = new NameAddresses({ guest, take, max: this.#gate.limits.names });
    const loopback = new LoopbackListeners({ guest, take: takePlace, taken: Object.values(PROXY_ADDRESSES) });
    this.#listening = { controller, names, loopback, served: this.#serve(controller, names) };
    return this.#listening;
  }

  async #serve(controller: AbortController, names: NameAddresses): Promise<void> {
    const listener = await this.#sandbox.guest.listen(Object.values(PROXY_ADDRESSES), { signal: controller.signal, waiting: WAITING });
    void this.#takeAll(listener, controller, names);
  }

  async #takeAll(listener: GuestListener, controller: AbortController, names: NameAddresses): Promise<void> {
    const startedAt = performance.now();
    try {
      listener.held.catch(() => {});
      for await (const connection of listener.connections)
        this.#admit(connection, (stream) => this.#take(stream, connection.local.port, names));
    } catch {
      // The guest has ended, or the stream to it broke.
    }
    if (!controller.signal.aborted) this.#listenAgain(performance.now() - startedAt);
  }

  /** A broken stream does not mean that the sandbox has ended, so it listens again. If the stream lived too short, it gives up. */
  #listenAgain(livedMs: number): void {
    if (livedMs < LISTEN_AGAIN_MS) return this.#close();
    this.#stopListening();
    this.#follow(this.#state);
    this.#ready.catch(() => this.#close());
  }

  #stopListening(): void {
    this.#listening?.controller.abort();
    this.#listening?.names.close();
    this.#listening?.loopback.close();
    this.#listening = undefined;
    this.#ready = Promise.resolve();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopListening();
    this.#gate.close();
    for (const stream of this.#streams) stream.destroy();
    this.#options.closed();
  }

  /** Counts the connection and passes it on, or refuses it if it exceeds the bounds. */
  #admit({ stream, local }: ListenedConnection, take: (stream: Duplex) => void): void {
    stream.on("error", () => stream.destroy());
    const excess = this.#options.allowances.map((allowance) => allowance.findExcess()).find((reason) => reason !== undefined);
    if (excess)
      return this.#turnAway(
        stream,
        local,
        new Refusal(excess, "The sandbox, or its owner, uses all of the network that it may use. Try again later."),
      );
    this.#count(stream, this.#options.allowances);
    return take(stream);
  }

  #count(stream: Duplex, allowances: readonly Allowance[]): void {
    for (const allowance of allowances) allowance.open();
    this.#streams.add(stream);
    stream.once("close", () => {
      this.#streams.delete(stream);
      for (const allowance of allowances) allowance.close();
    });
  }

  /** Writes at most one line into the audit each second, so that a program that floods the proxy does not flood the audit. */
  #turnAway(stream: Duplex, local: SocketAddress, refusal: Refusal): void {
    const now = performance.now();
    const via = VIA_OF_PORT[local.port] ?? "transparent";
    if (this.#excessRecordedAt === 0 || now - this.#excessRecordedAt >= 1000) {
      this.#excessRecordedAt = now;
      this.#gate.refuse({ via, place: NOWHERE }, refusal);
    }
    if (this.#told >= TOLD_MAX) return void stream.destroy();
    this.#told += 1;
    stream.once("close", () => (this.#told -= 1));
    if (via === "http") return refuseStream(stream, refusal);
    return endSoon(stream);
  }

  #take(stream: Duplex, port: number, names: NameAddresses): void {
    if (port === PROXY_ADDRESSES.http.port) this.#takeHttp(stream);
    else if (port === PROXY_ADDRESSES.socks.port) this.#settle(stream, this.#takeSocks(stream));
    else this.#settle(stream, serveNames(stream, this.#gate, names));
  }

  #takeHttp(stream: Duplex): void {
    const { proxy, trust } = this.#options;
    proxy.serve(stream, { gate: this.#gate, via: "http", trust, connect: (authority, tunnel) => this.#takeConnect(authority, tunnel) });
  }

  #takeConnect(authority: string, stream: Duplex): void {
    const place = parseAuthority(authority);
    if (place) return this.#tunnel("connect", place, stream, CONNECT_ANSWER);
    const refusal = badRequest("CONNECT needs a valid host:port.");
    this.#gate.refuse({ via: "connect", place: { host: authority, port: 0 } }, refusal);
    return refuseStream(stream, refusal);
  }

  async #takeSocks(stream: Duplex): Promise<void> {
    const place = await readSocksRequest(stream, this.#gate.limits.headMs);
    if (place === undefined)
      return this.#gate.refuse({ via: "socks", place: NOWHERE }, badRequest("This is no SOCKS5 CONNECT without authentication."));
    if (!(place instanceof Refusal)) return this.#tunnel("socks", place, stream, SOCKS_ANSWER);
    this.#gate.refuse({ via: "socks", place: NOWHERE }, place);
    return SOCKS_ANSWER.refuse(stream, place);
  }

  #takePlace(stream: Duplex, place: Place): void {
    this.#tunnel("transparent", place, stream, transparentAnswer(place.port));
  }

  #tunnel(via: ConnectionRecord["via"], place: Place, stream: Duplex, answer: TunnelAnswer): void {
    const { proxy, trust } = this.#options;
    this.#settle(stream, openTunnel({ gate: this.#gate, via, place, stream, answer, proxy, trust }));
  }

  /** An internal error ends only its own connection. */
  #settle(stream: Duplex, work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#gate.fault(error);
      stream.destroy();
    });
  }
}

async function settle(...works: readonly Promise<void>[]): Promise<void> {
  await Promise.all(works);
}

const VIA_OF_PORT: Readonly<Record<number, ConnectionRecord["via"]>> = {
  [PROXY_ADDRESSES.http.port]: "http",
  [PROXY_ADDRESSES.socks.port]: "socks",
  [PROXY_ADDRESSES.names.port]: "dns",
};

const CONNECT_ANSWER: TunnelAnswer = {
  accept: (stream) => void stream.write("HTTP/1.1 200 Connection Established\r\n\r\n"),
  refuse: refuseStream,
};

/** Refuses a program without a proxy in the protocol that fits the port. */
function transparentAnswer(port: number): TunnelAnswer {
  return {
    accept: () => {},
    refuse: (stream, refusal) => {
      if (port === 80) refuseStream(stream, refusal);
      else endSoon(stream, port === 443 ? tlsAlert("access_denied") : undefined);
    },
  };
}
