import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { PortRouter } from "../network/ports/port-router.ts";
import type { GuestUpgradeOptions } from "./routes/guest.ts";
import { serveGuestUpgrade } from "./routes/guest.ts";

/** The one place where connections leave HTTP: for a port of a sandbox, or for its guest. Closing ends those that did. */
export function serveUpgrades(server: Server, ports: PortRouter, guest: GuestUpgradeOptions): { close(): void } {
  const sockets = new Set<Duplex>();
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // Whatever breaks the socket also closes it, and both ends of what it was joined to.
    socket.on("error", () => socket.destroy());
    if (ports.takes(request)) ports.upgrade(request, socket, head);
    else serveGuestUpgrade(guest, { request, socket, head });
  });
  return {
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
