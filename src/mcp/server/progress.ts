import type { ServerContext } from "@modelcontextprotocol/server";

export interface Progress {
  report(message: string): void;
  /** Nothing is sent after it: a client must not see progress of a call that has been answered. */
  end(): void;
}

/** Undefined unless the client sent a progress token. Reports that come faster than the client takes them are dropped. */
export function createProgress(context: ServerContext): Progress | undefined {
  const token = context.mcpReq._meta?.progressToken;
  if (token === undefined) return undefined;
  let isBusy = false;
  let isOver = false;
  let count = 0;
  const free = (): void => {
    isBusy = false;
  };
  return {
    report(message) {
      if (isBusy || isOver) return;
      isBusy = true;
      count += 1;
      // A rejection says that the connection is gone; the call's own signal tells that to the work.
      context.mcpReq
        .notify({ method: "notifications/progress", params: { progressToken: token, progress: count, message } })
        .then(free, free);
    },
    end() {
      isOver = true;
    },
  };
}
