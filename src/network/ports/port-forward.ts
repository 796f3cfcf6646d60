import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { errnoOf } from "../../files/file-error.ts";
import { carryBoth } from "../http/carry.ts";
import type { OwnListeners } from "../own-listeners.ts";

export interface PortForwardOptions {
  /** Opens a TCP connection to the port inside. The signal applies to its whole life. */
  readonly dial: (signal: AbortSignal) => Promise<Duplex>;
  /** Port on loopback of this machine. 0 chooses a free one. */
  readonly local: number;
  readonly listeners: Pick<OwnListeners, "claim">;
  /** Called with the reason if a connection cannot be forwarded. Its client sees a closed connection. */
  readonly onRefused: (error: unknown) => void;
}

/** A TCP port on loopback that leads to a port inside, for every program of this machine. Disposing it ends its connections. */
export interface PortForward extends AsyncDisposable {
  readonly port: number;
}

const HOST = "127.0.0.1";
const CONNECTIONS_MAX = 512;

/** Rejects with `PORT_TAKEN`. */
export async function openPortForward({ dial, local, listeners, onRefused }: PortForwardOptions): Promise<PortForward> {
  const gone = new AbortController();
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
    dial(gone.signal).then(
      (inside) => carryBoth(socket, inside),
      (error: unknown) => {
        socket.destroy();
        if (!gone.signal.aborted) onRefused(error);
      },
    );
  });
  server.maxConnections = CONNECTIONS_MAX;
  const claimed = await listeners.claim({ host: HOST, port: local });
  server.listen({ host: HOST, port: claimed.port });
  await once(server, "listening").catch(async (cause: unknown) => {
    await claimed[Symbol.asyncDispose]();
    throw taken(local, cause);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      gone.abort();
      for (const socket of sockets) socket.destroy();
      const closed = once(server, "close");
      server.close();
      await closed;
      await claimed[Symbol.asyncDispose]();
    },
  };
}

function taken(port: number, cause: unknown): unknown {
  const code = errnoOf(cause);
  if (code !== "EADDRINUSE" && code !== "EACCES") return cause;
  const why = code === "EADDRINUSE" ? "is in use" : "may not be used by this user";
  return new BelljarError("PORT_TAKEN", `Port ${port} of this machine ${why}: name another as PORT:LOCAL, or PORT:0 for a free one`, {
    cause,
  });
}
