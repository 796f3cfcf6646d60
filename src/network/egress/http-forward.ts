import { type ClientRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { Transform } from "node:stream";
import { admitRequest, hasBody, type Outgoing, placeholderRefusal } from "./admit-request.ts";
import { answerRefusal } from "./answer-refusal.ts";
import { toReason } from "./dial.ts";
import type { Flow } from "./flow.ts";
import { unreachable } from "./gate.ts";
import type { PendingRequest, HttpVisit } from "./http-visit.ts";
import { Refusal } from "./refusal.ts";
import { relayAnswer } from "./relay-answer.ts";
import type { UpstreamRequest } from "./upstream-agent.ts";

const IDEMPOTENT = new Set(["GET", "HEAD", "OPTIONS"]);

/** Judges a request from inside, forwards it, and relays the answer. Owns request and response until the response is closed. */
export function forwardRequest(visit: HttpVisit, request: IncomingMessage, response: ServerResponse): void {
  new ForwardedRequest(visit, request, response).run().catch((error: unknown) => {
    visit.gate.fault(error);
    response.destroy();
  });
}

class ForwardedRequest implements PendingRequest {
  readonly #visit: HttpVisit;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #upstream: ClientRequest | undefined;
  #flow: Flow | undefined;

  constructor(visit: HttpVisit, request: IncomingMessage, response: ServerResponse) {
    this.#visit = visit;
    this.#request = request;
    this.#response = response;
  }

  async run(): Promise<void> {
    const response = this.#response;
    this.#visit.began(this);
    response.once("close", () => this.#visit.ended(this));
    const { flow, outgoing } = await admitRequest(this.#visit, this.#request);
    this.#flow = flow;
    flow.cut = (refusal) => this.#cut(refusal);
    if (outgoing instanceof Refusal) return flow.stop(outgoing);
    if (flow.isOver) return;
    response.once("close", () => {
      flow.end();
      this.#upstream?.destroy();
    });
    if (response.destroyed) return flow.end();
    this.#send(flow, outgoing);
  }

  expire(): void {
    if (this.#flow?.isOver === false) this.#flow.stop(unreachable("timed-out", this.#flow.place));
    else this.#response.destroy();
  }

  #cut(refusal: Refusal): void {
    this.#upstream?.destroy();
    answerRefusal(this.#response, refusal);
  }

  #send(flow: Flow, outgoing: Outgoing): void {
    const upstream = openUpstream(this.#visit, this.#request, { flow, outgoing });
    this.#upstream = upstream;
    upstream.on("error", (error: NodeJS.ErrnoException) => this.#failed(error, flow, outgoing));
    const relayed = { response: this.#response, flow, mask: outgoing.filled?.mask, touch: () => this.#visit.touch() };
    upstream.once("response", (incoming) => relayAnswer(incoming, relayed));
    upstream.once("upgrade", (_incoming, socket) => {
      socket.destroy();
      flow.stop(unreachable("bad-response", flow.place));
    });
    this.#sendBody(upstream, flow, outgoing.filled?.requestBody?.());
  }

  #sendBody(upstream: ClientRequest, flow: Flow, scan: Transform | undefined): void {
    const request = this.#request;
    if (!hasBody(request)) return void upstream.end();
    request.on("data", (chunk: Buffer) => {
      flow.sent(chunk.length);
      this.#visit.touch();
    });
    request.once("error", () => upstream.destroy());
    if (!scan) return void request.pipe(upstream);
    scan.once("error", (error) => flow.stop(placeholderRefusal(error) ?? new Refusal("internal", "The request's body could not be read.")));
    return void request.pipe(scan).pipe(upstream);
  }

  /** A kept connection that the origin has already closed is no failure. An idempotent request without a body is sent again. */
  #failed(error: NodeJS.ErrnoException, flow: Flow, outgoing: Outgoing): void {
    const isStale = this.#upstream?.reusedSocket && !this.#response.headersSent && toReason(error) === "reset";
    if (!flow.isOver && isStale && !hasBody(this.#request) && IDEMPOTENT.has(this.#request.method ?? "")) return this.#send(flow, outgoing);
    return flow.stop(unreachable(toReason(error), flow.place));
  }
}

/** Opens a request through the gate. The caller sends its body. */
export function openUpstream(
  visit: HttpVisit,
  request: IncomingMessage,
  { flow, outgoing }: { readonly flow: Flow; readonly outgoing: Outgoing },
): ClientRequest {
  const { place, scheme } = outgoing.target;
  const options: UpstreamRequest = {
    host: place.host,
    port: place.port,
    method: request.method ?? "GET",
    path: outgoing.path,
    headers: outgoing.filled?.mask ? { ...outgoing.headers, "accept-encoding": "identity" } : outgoing.headers,
    setHost: false,
    gate: visit.gate,
    flow,
    isTls: scheme === "https",
    onRefused: (refusal) => flow.stop(refusal),
  };
  const upstream = visit.agentFor(outgoing.target).open(options);
  // A kept connection was dialled for an earlier request.
  upstream.once("socket", ({ remoteAddress }) => (flow.address ??= remoteAddress));
  return upstream;
}
