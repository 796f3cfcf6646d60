import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createPlainServer } from "../network/ports/plain-server.ts";
import type { PortRouter } from "../network/ports/port-router.ts";

/** For the head of a request to arrive, and for the whole of one that is not for a port. */
const REQUEST_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_MS = 72_000;

/**
 * Requests for ports of sandboxes go to their router raw, before anything of the server's own looks at them: no body limit, no
 * parser, no time limit on an upload, and no route of the server under a port's name.
 */
export function createHttpServer(ports: PortRouter, own: RequestListener): Server {
  const server = createPlainServer({ requestTimeout: 0, headersTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_MS });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (ports.takes(request)) return ports.handle(request, response);
    limitTime(request);
    return own(request, response);
  });
  return server;
}

function limitTime(request: IncomingMessage): void {
  const timer = setTimeout(() => request.socket.destroy(), REQUEST_TIMEOUT_MS);
  timer.unref();
  const stop = (): void => clearTimeout(timer);
  request.once("end", stop).once("close", stop);
}
