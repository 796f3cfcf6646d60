import type { Duplex } from "node:stream";

/** Aborts when the client closes the connection. */
export interface WatchedClient {
  readonly gone: AbortSignal;
  stop(): void;
}

/** Watches a socket that nothing reads yet. It triggers reads, without taking bytes, because Node reports an end only while reading. */
export function watchClient(socket: Duplex): WatchedClient {
  const controller = new AbortController();
  const look = (): void => void socket.read(0);
  const abort = (): void => controller.abort();
  socket.on("readable", look);
  socket.once("end", abort).once("close", abort);
  look();
  return {
    gone: controller.signal,
    stop: () => void socket.off("readable", look).off("end", abort).off("close", abort),
  };
}
