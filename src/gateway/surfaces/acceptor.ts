import type { Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Server as NetServer, Socket } from "node:net";
import { createServer } from "node:net";
import { BelljarError } from "../../errors.ts";
import { createPlainServer, KEEP_ALIVE_MS } from "../../network/ports/plain-server.ts";
import type { Acceptor } from "./listeners.ts";
import type { Certificates } from "./surface.ts";

/** How often Node looks for heads that are late. */
const LOOK_MS = 30_000;
/** The first byte of a TLS handshake; no request begins with it. */
const HANDSHAKE = 0x16;

/** Accepts HTTP alone. The head of a request has `headMs` to arrive. */
export function acceptPlain(serve: (server: Server) => void, headMs: number): Acceptor {
  const server = createPlainServer(limitsOf(headMs));
  serve(server);
  return { server, closeAllConnections: () => server.closeAllConnections() };
}

/**
 * Accepts HTTP and HTTPS at one port. A client that names no host of ours in its handshake gets no answer. The first byte, a handshake,
 * and the head of each request have `headMs` each.
 */
export function acceptBoth(serve: (server: Server) => void, findTls: FindTls, headMs: number): Acceptor {
  const plain = createPlainServer(limitsOf(headMs));
  const secure = createTlsServer(findTls, headMs);
  // Neither server knows a connection before its handshake or the head of its first request.
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    readFirstByte(socket, headMs, (first) => (first === HANDSHAKE ? secure : plain).emit("connection", socket));
  });
  for (const inner of [plain, secure]) {
    serve(inner);
    watchHeads(inner, server);
  }
  return {
    server,
    closeAllConnections() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

type FindTls = (name: string) => Certificates | undefined;

function createTlsServer(findTls: FindTls, headMs: number): Server {
  const server = createSecureServer({
    ...limitsOf(headMs),
    handshakeTimeout: headMs,
    SNICallback(name, done) {
      try {
        done(null, (findTls(name) ?? unknownName()).contextFor(name));
      } catch (error) {
        done(error as Error);
      }
    },
  });
  // As the plain one: a header that is not read is still sent.
  server.maxHeadersCount = 0;
  return server;
}

function limitsOf(headMs: number) {
  const connectionsCheckingInterval = Math.min(headMs, LOOK_MS);
  return { requestTimeout: 0, headersTimeout: headMs, connectionsCheckingInterval, keepAliveTimeout: KEEP_ALIVE_MS };
}

/** Node looks for late heads from the moment a server listens. An inner one never does: its connections come from the outer one. */
function watchHeads(inner: Server, outer: NetServer): void {
  inner.emit("listening");
  outer.once("close", () => inner.close());
}

/** The byte stays to be read. A connection that sends none, or too late, is ended. */
function readFirstByte(socket: Socket, headMs: number, done: (first: number) => void): void {
  const give = (): void => {
    const bytes = socket.read() as Buffer | null;
    const first = bytes?.[0];
    if (bytes === null || first === undefined) return;
    stop();
    socket.unshift(bytes);
    done(first);
  };
  const end = (): void => {
    stop();
    socket.destroy();
  };
  const stop = (): void => {
    socket.setTimeout(0);
    socket.off("readable", give).off("timeout", end).off("end", end).off("close", end).off("error", end);
  };
  socket.setTimeout(headMs);
  socket.on("readable", give).once("timeout", end).once("end", end).once("close", end).once("error", end);
}

function unknownName(): never {
  throw new BelljarError("FORBIDDEN", "The handshake names no host of this server");
}
