import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import { limitTime } from "../../async/limit-time.ts";
import { BelljarError } from "../../errors.ts";
import { toAuthority } from "../host-name.ts";
import { type ClientGateOptions, openClientGate, placeOf, trustOf } from "./client-gate.ts";
import { toReason } from "./dial.ts";
import type { Flow } from "./flow.ts";
import { type Gate, unreachable } from "./gate.ts";
import { headBytes } from "./http-headers.ts";
import { forScheme, judgeRequest } from "./policy-table.ts";
import { type Place, Refusal, withoutSandbox } from "./refusal.ts";
import { UpstreamAgent, type UpstreamTrust } from "./upstream-agent.ts";

export interface EgressClientOptions extends ClientGateOptions {
  /** An answer's head must come within this time, and its body never waits longer for more. Default: one minute. */
  readonly patienceMs?: number;
}

export interface EgressGet {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** The caller disposes it, which ends the request. */
export interface EgressAnswer extends Disposable {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Rejects with `NETWORK_FAILED` if the origin stops in the middle, or sends too slowly. To be read once. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Belljar's own requests for a caller. They go where the caller's sandboxes may go, and nowhere else. Disposing it ends them all. */
export interface EgressClient extends Disposable {
  /** Follows no redirect. Rejects with `NETWORK_DENIED` if the policy does not allow the URL, and with `NETWORK_FAILED` without an answer. */
  get(request: EgressGet, signal: AbortSignal): Promise<EgressAnswer>;
}

const PATIENCE_MS = 60_000;
/** A body that comes more slowly than this, on average, uses up the patience. */
const SLOWEST_BYTES_PER_MS = 1;

export function createEgressClient(options: EgressClientOptions): EgressClient {
  const { patienceMs = PATIENCE_MS } = options;
  const gate = openClientGate(options);
  const trust = trustOf(options);
  return {
    get: (request, signal) => new Get(gate, trust, patienceMs).send(request, signal),
    [Symbol.dispose]: () => gate.close(),
  };
}

class Get {
  readonly #gate: Gate;
  readonly #trust: UpstreamTrust;
  readonly #patienceMs: number;
  /** Why the request ended early. */
  #refusal: Refusal | undefined;
  #request: ClientRequest | undefined;

  constructor(gate: Gate, trust: UpstreamTrust, patienceMs: number) {
    this.#gate = gate;
    this.#trust = trust;
    this.#patienceMs = patienceMs;
  }

  async send({ url, headers }: EgressGet, signal: AbortSignal): Promise<EgressAnswer> {
    signal.throwIfAborted();
    const place = placeOf(url);
    const flow = this.#gate.start({ via: "http", place });
    flow.cut = (refusal) => this.#cut(refusal);
    const stop = (): void => void this.#request?.destroy();
    const dispose = (): void => {
      signal.removeEventListener("abort", stop);
      stop();
      flow.end(this.#refusal);
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      const path = this.#judge(url, flow);
      const incoming = await this.#head(flow, { path, isTls: url.protocol === "https:", headers }, signal);
      flow.received(headBytes(incoming.rawHeaders));
      const body = this.#read(incoming, flow, signal);
      return { status: incoming.statusCode ?? 0, headers: incoming.headers, body, [Symbol.dispose]: dispose };
    } catch (error) {
      dispose();
      throw error;
    }
  }

  /** Returns the path that was judged, which must be sent. */
  #judge(url: URL, flow: Flow): string {
    const scheme = url.protocol === "https:" ? "https" : "http";
    const line = { method: "GET", path: `${url.pathname}${url.search}` };
    const judged = judgeRequest(forScheme(this.#gate.find(flow.place), scheme), line);
    if (judged === undefined || judged instanceof Refusal) throw this.#fail(judged ?? this.#gate.noRule(flow.place), flow.place);
    flow.rule = judged.allowance.rule;
    return judged.path;
  }

  async #head(
    flow: Flow,
    { path, isTls, headers }: { readonly path: string; readonly isTls: boolean; readonly headers: EgressGet["headers"] },
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { host, port } = flow.place;
    const authority = port === (isTls ? 443 : 80) ? toAuthority(host, port).replace(/:\d+$/, "") : toAuthority(host, port);
    using limited = limitTime(signal, this.#patienceMs);
    const request = new UpstreamAgent(this.#trust, false).open({
      host,
      port,
      path,
      isTls,
      flow,
      gate: this.#gate,
      method: "GET",
      setHost: false,
      headers: { ...headers, host: authority, "accept-encoding": "identity" },
      onRefused: (refusal) => (this.#refusal = refusal),
    });
    this.#request = request;
    const giveUp = (): void => void request.destroy();
    limited.signal.addEventListener("abort", giveUp, { once: true });
    try {
      const answered = new Promise<IncomingMessage>((resolve, reject) => request.once("response", resolve).on("error", reject).end());
      return await answered;
    } catch (error) {
      signal.throwIfAborted();
      const reason = limited.signal.aborted ? "timed-out" : toReason(error as NodeJS.ErrnoException);
      throw this.#fail(this.#refusal ?? unreachable(reason, flow.place), flow.place);
    } finally {
      limited.signal.removeEventListener("abort", giveUp);
    }
  }

  async *#read(incoming: IncomingMessage, flow: Flow, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    const chunks = incoming[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
    for (let leftMs = this.#patienceMs; ;) {
      const beganMs = performance.now();
      const next = await this.#next(chunks, flow, { signal, leftMs: Math.max(1, leftMs) });
      if (!next) return;
      flow.received(next.length);
      leftMs = Math.min(this.#patienceMs, leftMs - (performance.now() - beganMs) + next.length / SLOWEST_BYTES_PER_MS);
      yield next;
    }
  }

  async #next(
    chunks: AsyncIterator<Buffer, undefined>,
    { place }: Flow,
    { signal, leftMs }: { readonly signal: AbortSignal; readonly leftMs: number },
  ): Promise<Buffer | undefined> {
    const timer = setTimeout(() => this.#cut(unreachable("timed-out", place)), leftMs);
    try {
      return (await chunks.next()).value;
    } catch (error) {
      signal.throwIfAborted();
      const reason = toReason(error as NodeJS.ErrnoException);
      const authority = toAuthority(place.host, place.port);
      throw this.#fail(this.#refusal ?? new Refusal(reason, `${authority} stopped in the middle of its answer.`), place);
    } finally {
      clearTimeout(timer);
    }
  }

  #cut(refusal: Refusal): void {
    this.#refusal ??= refusal;
    this.#request?.destroy();
  }

  #fail(refusal: Refusal, place: Place): BelljarError {
    this.#refusal ??= refusal;
    return new BelljarError(refusal.verdict === "refused" ? "NETWORK_DENIED" : "NETWORK_FAILED", describe(refusal, place));
  }
}

function describe(refusal: Refusal, place: Place): string {
  const text = withoutSandbox(refusal, place);
  return refusal.missingRule === undefined ? text : `${text} The missing rule is "${refusal.missingRule}".`;
}
