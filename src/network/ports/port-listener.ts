import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { OwnListeners } from "../own-listeners.ts";
import { endSoon } from "../http/end-soon.ts";
import { formatAnswer } from "../http/raw-answer.ts";
import { createPlainServer } from "./plain-server.ts";
import { createPortRouter } from "./port-router.ts";
import type { PortRouterOptions } from "./port-router.ts";

/** An HTTP server only for ports, for a process without a gateway. Disposing it ends every connection. */
export interface PortListener extends AsyncDisposable {
  /** The origin of links. */
  readonly origin: URL;
}

const HOST = "127.0.0.1";
const HEADERS_TIMEOUT_MS = 60_000;

export interface PortListenerOptions extends Omit<PortRouterOptions, "isOwnName"> {
  readonly listeners: Pick<OwnListeners, "claim">;
}

/** Listens on a free port of the loopback address. */
export async function openPortListener({ listeners, ...options }: PortListenerOptions): Promise<PortListener> {
  const router = createPortRouter({ ...options, isOwnName: (name) => name === HOST || name === "localhost" });
  // The head of a request has a time limit, its body has none.
  const server = createPlainServer({ requestTimeout: 0, headersTimeout: HEADERS_TIMEOUT_MS });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (router.takes(request)) router.handle(request, response);
    else response.writeHead(404, { "content-type": "text/plain" }).end("Only ports of sandboxes are served here\n");
  });
  const sockets = new Set<Duplex>();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    if (router.takes(request)) router.upgrade(request, socket, head);
    else endSoon(socket, formatAnswer({ status: 404, headers: [] }, ""));
  });
  const claimed = await listeners.claim({ host: HOST, port: 0 });
  server.listen({ host: HOST, port: claimed.port });
  await once(server, "listening").catch(async (cause: unknown) => {
    await claimed[Symbol.asyncDispose]();
    throw cause;
  });
  return {
    origin: new URL(`http://${HOST}:${(server.address() as AddressInfo).port}`),
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      router.close();
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await closed;
      await claimed[Symbol.asyncDispose]();
    },
  };
}
