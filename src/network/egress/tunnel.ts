import type { Socket } from "node:net";
import { type Duplex, Transform } from "node:stream";
import { TLSSocket } from "node:tls";
import type { ConnectionRecord } from "../connection-record.ts";
import { isAddress, toCanonicalHost } from "../host-name.ts";
import type { SecretGuard } from "../secrets/secret-guard.ts";
import { endSoon } from "../http/end-soon.ts";
import { HELLO_MAX_BYTES, type HelloParse, parseClientHello } from "./client-hello.ts";
import type { Flow } from "./flow.ts";
import type { Gate } from "./gate.ts";
import type { HttpProxy } from "./http-proxy.ts";
import type { HttpOrigin } from "./http-target.ts";
import { joinStreams } from "./join-streams.ts";
import { forScheme, isConditional } from "./policy-table.ts";
import { readHead } from "./read-head.ts";
import { type Place, Refusal } from "./refusal.ts";
import { tlsAlert } from "./tls-alert.ts";
import type { UpstreamTrust } from "./upstream-agent.ts";

/** Answers the client in its own protocol. */
export interface TunnelAnswer {
  accept(stream: Duplex): void;
  /** Ends the stream. */
  refuse(stream: Duplex, refusal: Refusal): void;
}

export interface TunnelRequest {
  readonly gate: Gate;
  readonly via: ConnectionRecord["via"];
  readonly place: Place;
  readonly stream: Duplex;
  readonly answer: TunnelAnswer;
  readonly proxy: HttpProxy;
  readonly trust: UpstreamTrust;
}

/** Connects a program to one place. Judges its name, its protocol and its addresses. Owns the stream. */
export async function openTunnel(request: TunnelRequest): Promise<void> {
  const { gate, place, stream } = request;
  const flow = gate.start({ via: request.via, place });
  stream.on("error", () => stream.destroy());
  stream.once("close", () => flow.end());
  const allowances = gate.find(place);
  const refuse = (refusal: Refusal): void => request.answer.refuse(stream, refusal);
  flow.cut = refuse;
  if (allowances.length === 0) return flow.stop(gate.noRule(place));
  flow.rule = allowances[0]?.rule;
  flow.isStillAllowed = () => gate.find(place).length > 0;
  const tunnel = new Tunnel(request, flow);
  if (tunnel.speaks === "http" || (tunnel.speaks === "tls" && gate.readsTls(place))) return read(tunnel, gate, flow);
  const upstream = await gate.dial(flow);
  if (upstream instanceof Refusal) return flow.stop(upstream);
  return tunnel.join(upstream);
}

/** Serves a tunnel whose traffic is read. Each request opens its own connection. A forbidden address is refused before any request. */
async function read(tunnel: Tunnel, gate: Gate, flow: Flow): Promise<void> {
  const addresses = await gate.resolve(flow.place);
  if (addresses instanceof Refusal) return flow.stop(addresses);
  if (flow.isOver) return;
  return tunnel.speaks === "http" ? tunnel.toHttp() : tunnel.terminate();
}

class Tunnel {
  /** The protocol that the policy expects on this port. */
  readonly speaks: "http" | "tls" | "anything";
  readonly #request: TunnelRequest;
  readonly #flow: Flow;

  constructor(request: TunnelRequest, flow: Flow) {
    this.#request = request;
    this.#flow = flow;
    this.speaks = expected(request.gate, request.place);
  }

  /** Serves HTTP on the tunnel. Each request is judged, and is its own flow. */
  toHttp(): void {
    this.#accept();
    this.#serveHttp(this.#request.stream, "http");
  }

  async terminate(): Promise<void> {
    this.#accept();
    const refusal = this.#judgeHello(await this.#look());
    return refusal ? this.#refuseTls(refusal) : this.#decrypt();
  }

  /** Carries the bytes unchanged. A TLS hello is checked, and is required if the rule is for https. */
  async join(upstream: Socket): Promise<void> {
    const { stream, gate, place } = this.#request;
    const drop = (): void => void upstream.destroy();
    upstream.on("error", drop);
    stream.once("close", drop);
    if (this.#flow.isOver || stream.destroyed) return drop();
    this.#accept();
    const canServerBegin = this.speaks === "anything" && mayStayUnread(gate, place, false);
    const first = canServerBegin ? await waitForFirst(stream, upstream, gate.limits.idleMs) : "client";
    if (first === "nobody") return this.#flow.stop(new Refusal("too-slow", "Neither side said anything in time."));
    const seen = first === "server" ? OTHER : await this.#look();
    if (this.#flow.isOver) return drop();
    return this.#joinSeen(upstream, seen);
  }

  #joinSeen(upstream: Socket, seen: HelloParse | undefined): void {
    const { gate, stream, place } = this.#request;
    const isTls = seen?.kind === "hello";
    const refusal = this.#judge(seen);
    if (refusal) return this.#refuseTls(refusal);
    if (!mayStayUnread(gate, place, isTls)) {
      upstream.destroy();
      return isTls ? void this.#decrypt() : this.#serveHttp(stream, "http");
    }
    this.#flow.isStillAllowed = () => mayStayUnread(gate, place, isTls);
    const scan = gate.guard && !isTls ? scanForPlaceholders(gate.guard, (found) => this.#flow.stop(found)) : undefined;
    return joinStreams(this.#flow, { inside: stream, outside: upstream, idleMs: gate.limits.idleMs, ...(scan && { toOutside: scan }) });
  }

  #judge(seen: HelloParse | undefined): Refusal | undefined {
    if (seen?.kind === "hello" || this.speaks === "tls") return this.#judgeHello(seen);
    return undefined;
  }

  #accept(): void {
    this.#request.answer.accept(this.#request.stream);
    this.#flow.cut = () => this.#request.stream.destroy();
  }

  #look(): Promise<HelloParse | undefined> {
    const parse = (bytes: Buffer): { value: HelloParse; used: number } | undefined => {
      const value = parseClientHello(bytes);
      return value.kind === "partial" ? undefined : { value, used: 0 };
    };
    return readHead(this.#request.stream, parse, { maxBytes: HELLO_MAX_BYTES, timeoutMs: this.#request.gate.limits.headMs });
  }

  /** Checks that a TLS hello is for this place. With the policy `all`, only TLS that is decrypted is checked. */
  #judgeHello(seen: HelloParse | undefined): Refusal | undefined {
    const { gate, place } = this.#request;
    if (!seen) return new Refusal("too-slow", "The TLS hello did not come whole, or not in time.");
    if (gate.isAll && !gate.readsTls(place)) return undefined;
    if (seen.kind !== "hello") return new Refusal("not-tls", `Only TLS is allowed to ${place.host} on port ${place.port}.`);
    if (forScheme(gate.find(place), "https").length === 0) return gate.noRule(place, "https");
    return judgeServerName(seen.hello, place);
  }

  async #decrypt(): Promise<void> {
    const { gate, place, stream } = this.#request;
    const secureContext = await gate.guard?.certificateFor(place.host).catch((error: unknown) => gate.fault(error));
    if (!secureContext) return this.#refuseTls(new Refusal("internal", `No certificate could be made for ${place.host}.`));
    const secure = new TLSSocket(stream, { isServer: true, secureContext, ALPNProtocols: ["http/1.1"] });
    secure.once("close", () => stream.destroy());
    secure.once("error", () => this.#flow.stop(new Refusal("bad-request", "The TLS handshake failed.")));
    return this.#serveHttp(secure, "https");
  }

  #serveHttp(stream: Duplex, scheme: HttpOrigin["scheme"]): void {
    const { gate, via, place, trust, proxy } = this.#request;
    this.#flow.cut = () => this.#request.stream.destroy();
    // Each of its requests has its own line in the audit.
    this.#flow.isQuiet = true;
    proxy.serve(stream, { gate, via, fixed: { place, scheme }, trust });
  }

  #refuseTls(refusal: Refusal): void {
    this.#flow.cut = () =>
      endSoon(this.#request.stream, tlsAlert(refusal.reason.startsWith("sni") ? "unrecognized_name" : "access_denied"));
    this.#flow.stop(refusal);
  }
}

const OTHER: HelloParse = { kind: "other" };

function expected(gate: Gate, place: Place): Tunnel["speaks"] {
  const schemes = new Set(gate.find(place).map((allowance) => allowance.scheme));
  if (gate.isAll) return place.port === 443 ? "tls" : place.port === 80 && gate.guard ? "http" : "anything";
  if (place.port === 443 || (schemes.size === 1 && schemes.has("https"))) return "tls";
  return place.port === 80 || (schemes.size === 1 && schemes.has("http")) ? "http" : "anything";
}

/** Returns true if a rule allows all traffic of this kind. Other traffic is read, so that each request is judged. */
function mayStayUnread(gate: Gate, place: Place, isTls: boolean): boolean {
  if (isTls && gate.readsTls(place)) return false;
  return gate
    .find(place)
    .some((allowance) => !isConditional(allowance) && (allowance.scheme === "any" || (isTls && allowance.scheme === "https")));
}

function judgeServerName(hello: { readonly serverName?: string; readonly isEncrypted: boolean }, { host }: Place): Refusal | undefined {
  if (hello.isEncrypted) return new Refusal("encrypted-hello", "The TLS hello hides the server's name (ECH), so it cannot be checked.");
  if (hello.serverName === undefined) return isAddress(host) ? undefined : new Refusal("sni-missing", "The TLS hello names no server.");
  if (toCanonicalHost(hello.serverName) === host) return undefined;
  return new Refusal("sni-mismatch", `The TLS hello is not for ${host}.`);
}

/**
 * Waits until one side sends bytes. A side that ends counts as the server. It takes no bytes, and leaves the streams paused. If neither
 * side sends in time, the tunnel must be closed: a client must not avoid the check of its first bytes by waiting.
 */
function waitForFirst(stream: Duplex, upstream: Socket, timeoutMs: number): Promise<"client" | "server" | "nobody"> {
  return new Promise((resolve) => {
    const finish = (first: "client" | "server" | "nobody"): void => {
      clearTimeout(timer);
      stream.off("readable", client).off("close", server);
      upstream.off("readable", server).off("close", server);
      resolve(first);
    };
    const client = (): void => finish("client");
    const server = (): void => finish("server");
    const timer = setTimeout(() => finish("nobody"), timeoutMs);
    stream.on("readable", client).once("close", server);
    upstream.on("readable", server).once("close", server);
  });
}

/** Longer than any placeholder. So many bytes are scanned again with the next chunk. */
const OVERLAP_BYTES = 512;

/** Passes bytes on until it finds a placeholder. A placeholder must never appear in traffic that no guard fills in. */
function scanForPlaceholders(guard: SecretGuard, found: (refusal: Refusal) => void): Transform {
  let tail = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const seen = Buffer.concat([tail, chunk]);
      if (guard.hasPlaceholder(seen))
        return found(new Refusal("placeholder", "A secret's placeholder was sent to a host that the secret is not for."));
      tail = Buffer.from(seen.subarray(-OVERLAP_BYTES));
      return done(null, chunk);
    },
  });
}
