import { createServer, type IncomingMessage, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { endSoon } from "../http/end-soon.ts";
import { refuseStream } from "./answer-refusal.ts";
import { forwardRequest } from "./http-forward.ts";
import { badRequest } from "./http-target.ts";
import { forwardUpgrade } from "./http-upgrade.ts";
import { HttpVisit, type HttpVisitOptions } from "./http-visit.ts";
import { Refusal } from "./refusal.ts";

const HEAD_MAX_BYTES = 65_536;
/** Maximum number of unanswered requests on one connection. */
const PIPELINED_MAX = 16;
const NOWHERE = { host: "", port: 0 };

/** Speaks HTTP with programs inside, on the streams that `serve` gets. It owns and closes these streams. It does not listen itself. */
export class HttpProxy {
  readonly #visits = new WeakMap<object, HttpVisit>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer({ maxHeaderSize: HEAD_MAX_BYTES, insecureHTTPParser: false, requireHostHeader: false, keepAlive: false });
    // `HttpVisit` has the timeouts, because a server that never listens has no timers.
    this.#server.timeout = this.#server.keepAliveTimeout = 0;
    this.#server.on("request", (request, response) => {
      const visit = this.#visitOf(request);
      if (visit.exchanges < PIPELINED_MAX) return forwardRequest(visit, request, response);
      if (request.socket.destroyed) return;
      const refusal = new Refusal("too-fast", `At most ${PIPELINED_MAX} requests may wait on one connection.`);
      visit.gate.refuse({ via: visit.via, place: visit.fixed?.place ?? NOWHERE }, refusal);
      // Closed, because thousands of further requests may follow.
      request.socket.destroy();
    });
    this.#server.on("upgrade", (request, socket, head) => {
      const visit = this.#visitOf(request);
      // An answer to an earlier request would be written into the upgraded stream.
      if (visit.exchanges > 0) return void socket.destroy();
      if (head.length > 0) socket.unshift(head);
      return forwardUpgrade(visit, request, socket);
    });
    this.#server.on("connect", (request, socket, head) => {
      const visit = this.#visitOf(request);
      if (visit.exchanges > 0) return void socket.destroy();
      visit.leave();
      if (head.length > 0) socket.unshift(head);
      if (visit.connect) return visit.connect(request.url ?? "", socket);
      const refusal = badRequest("CONNECT is not possible inside another connection.");
      visit.gate.refuse({ via: visit.via, place: visit.fixed?.place ?? NOWHERE }, refusal);
      return refuseStream(socket, refusal);
    });
    this.#server.on("clientError", (error, socket) => this.#malformed(error, socket));
  }

  serve(stream: Duplex, options: HttpVisitOptions): void {
    stream.on("error", () => stream.destroy());
    this.#visits.set(stream, new HttpVisit(stream, options));
    this.#server.emit("connection", stream);
    // Whoever looked at the first bytes has left it paused.
    stream.resume();
  }

  #visitOf(request: IncomingMessage): HttpVisit {
    const visit = this.#visits.get(request.socket);
    if (!visit) throw new TypeError("A request came on a stream that `serve` was not given");
    return visit;
  }

  #malformed(error: Error & { code?: string; rawPacket?: Buffer }, stream: Duplex): void {
    const visit = this.#visits.get(stream);
    if (!visit || !error.code?.startsWith("HPE_")) return void stream.destroy();
    const refusal =
      error.rawPacket?.subarray(0, 14).toString("latin1") === "PRI * HTTP/2.0" ? http2() : badRequest("This is no valid HTTP/1.1 request.");
    visit.gate.refuse({ via: visit.via, place: visit.fixed?.place ?? NOWHERE }, refusal);
    visit.leave();
    if (visit.exchanges > 0) endSoon(stream);
    else refuseStream(stream, refusal);
  }
}

function http2(): Refusal {
  return new Refusal("http2", "HTTP/2 without TLS is not supported here. Use HTTP/1.1, or HTTP/2 over TLS through CONNECT.");
}
