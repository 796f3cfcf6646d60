import type { ServerResponse } from "node:http";
import type { ConnectFailure } from "./envelope.ts";
import { encodeEnd, encodeMessage } from "./envelope.ts";

/** The answer to a stream: envelopes, of which the last one says how it ended. */
/** Disposing it ends what it sends by itself. */
export interface EventAnswer extends Disposable {
  /** Resolves once the client takes more, or has gone. */
  send(event: unknown): Promise<void>;
  /** Sends this event whenever nothing was sent for so long. A client that reads nothing gets none. */
  keepAlive(event: unknown, idleMs: number): void;
  end(failure?: ConnectFailure): void;
  /** Breaks the connection, so that the client notices that the end is missing. */
  cut(): void;
  hasBegun(): boolean;
}

/** Nothing of the answer is written before its first envelope. Until then `take` was not called, and another answer may be given. */
export function createEventAnswer(take: () => ServerResponse): EventAnswer {
  let begun: ServerResponse | undefined;
  let timer: NodeJS.Timeout | undefined;
  const begin = (): ServerResponse => (begun ??= begin200(take()));
  return {
    async send(event) {
      timer?.refresh();
      const response = begin();
      if (response.destroyed || response.write(encodeMessage(event))) return;
      await drained(response);
    },
    keepAlive(event, idleMs) {
      timer = setInterval(() => {
        const response = begin();
        if (!response.destroyed && !response.writableNeedDrain) response.write(encodeMessage(event));
      }, idleMs);
    },
    end(failure) {
      begin().end(encodeEnd(failure));
    },
    cut() {
      (begun ?? take()).destroy();
    },
    hasBegun: () => begun !== undefined,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function begin200(response: ServerResponse): ServerResponse {
  response.writeHead(200, { "content-type": "application/connect+json", "cache-control": "no-store" });
  return response;
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}
