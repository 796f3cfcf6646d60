import type { ServerContext } from "@modelcontextprotocol/server";
import type { Progress } from "../../catalog/tool.ts";

export interface ProgressReporter {
  report(progress: Progress): void;
  /** Nothing is sent after it: a client must not see progress of a call that has been answered. */
  end(): void;
}

/**
 * Undefined unless the client sent a progress token. Reports that come faster than the client takes them are dropped, and those whose
 * number is no larger than the last one's, which the protocol does not allow.
 */
export function createProgress(context: ServerContext): ProgressReporter | undefined {
  const token = context.mcpReq._meta?.progressToken;
  if (token === undefined) return undefined;
  let isBusy = false;
  let isOver = false;
  let last = -Infinity;
  const free = (): void => {
    isBusy = false;
  };
  return {
    report({ progress, total, message }) {
      if (isBusy || isOver || !(progress > last)) return;
      isBusy = true;
      last = progress;
      const told = { progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) };
      // A rejection says that the connection is gone; the call's own signal tells that to the work.
      context.mcpReq.notify({ method: "notifications/progress", params: { progressToken: token, ...told } }).then(free, free);
    },
    end() {
      isOver = true;
    },
  };
}
