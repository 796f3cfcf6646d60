import type { IncomingMessage } from "node:http";

/** How long requests may take to arrive. A request that takes longer loses its connection. Answers may take any time. */
export interface Arrivals {
  /** The request must arrive whole within the time. */
  start(request: IncomingMessage): void;
  /** From now on only a pause of its client may not be longer than the time. The returned function must be called with each chunk. */
  pace(request: IncomingMessage): () => void;
}

export function createArrivals(arrivalMs: number): Arrivals {
  const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>();
  const limit = (request: IncomingMessage, isLate: () => boolean): NodeJS.Timeout => {
    const timer = setTimeout(() => {
      if (isLate()) request.socket.destroy();
      else if (!request.complete) timer.refresh();
    }, arrivalMs).unref();
    clearTimeout(timers.get(request));
    timers.set(request, timer);
    return timer;
  };
  return {
    start(request) {
      // An unread request without a body has no `end` before its answer ends.
      limit(request, () => !request.complete);
      const stop = (): void => clearTimeout(timers.get(request));
      request.once("end", stop).once("close", stop);
    },
    pace(request) {
      // While bytes wait here, it is not the client that pauses.
      const timer = limit(request, () => !request.complete && request.readableLength === 0);
      return () => void timer.refresh();
    },
  };
}
