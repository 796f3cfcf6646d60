import type { Duplex } from "node:stream";

/** Aborts when the client of an upgraded connection goes. */
export interface WatchedClient {
  readonly gone: AbortSignal;
  stop(): void;
}

/** Nothing else reads the socket yet, so its end is only seen when this reads it, without taking what came. */
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
