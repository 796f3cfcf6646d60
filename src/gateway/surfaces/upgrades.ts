import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { Upgrade } from "../routes/upgrade-route.ts";
import { isSecure } from "../../network/http/is-secure.ts";

/** Who answers a request that wants to leave HTTP. */
export interface Upgrader {
  /** It judges every request by itself, a question for HTTP/2 too. */
  readonly isRaw: boolean;
  upgrade(upgrade: Upgrade): void;
}

/** The one place where connections leave HTTP. Closing ends those that did. */
export interface Upgrades {
  watch(server: Server): void;
  close(): void;
}

export function createUpgrades(find: (request: IncomingMessage) => Upgrader): Upgrades {
  const sockets = new Set<Duplex>();
  return {
    watch(server) {
      server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
        const upgrader = find(request);
        if (!upgrader.isRaw && request.headers.upgrade?.toLowerCase() === "h2c") return serveAsBefore(server, { request, socket, head });
        sockets.add(socket);
        socket.once("close", () => sockets.delete(socket));
        // Whatever breaks the socket also closes it, and both ends of what it was joined to.
        socket.on("error", () => socket.destroy());
        upgrader.upgrade({ request, socket, head });
      });
    },
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

const OF_THE_UPGRADE = new Set(["connection", "upgrade", "http2-settings"]);

/**
 * Some clients ask with every first request whether HTTP/2 may be spoken; who says nothing to that serves on. Node has left its parser
 * by then, so the request is given to it once more without the question.
 */
function serveAsBefore(server: Server, { request, socket, head }: Upgrade): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 && !OF_THE_UPGRADE.has(name.toLowerCase()) ? [`${name}: ${rawHeaders[index + 1]}`] : [],
  );
  socket.unshift(Buffer.concat([Buffer.from(`${method} ${url} HTTP/${httpVersion}\r\n${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  // What comes by TLS is read already.
  server.emit(isSecure(request) ? "secureConnection" : "connection", socket);
}
