import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { PortRouter } from "../network/ports/port-router.ts";
import type { Upgrade, UpgradeOptions } from "./upgrade-route.ts";
import { assertUpgradesDeclared, serveUpgrade } from "./upgrade-route.ts";

/** The one place where connections leave HTTP: for a port of a sandbox, or by a route of the server. Closing ends those that did. */
export function serveUpgrades(server: Server, ports: PortRouter, options: UpgradeOptions): { close(): void } {
  assertUpgradesDeclared(options.routes);
  const sockets = new Set<Duplex>();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!ports.takes(request) && request.headers.upgrade?.toLowerCase() === "h2c") return serveAsBefore(server, { request, socket, head });
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // Whatever breaks the socket also closes it, and both ends of what it was joined to.
    socket.on("error", () => socket.destroy());
    if (ports.takes(request)) ports.upgrade(request, socket, head);
    else serveUpgrade(options, { request, socket, head });
  });
  return {
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
  server.emit("connection", socket);
}
