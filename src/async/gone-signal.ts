import type { ServerResponse } from "node:http";

/** Aborts when the client goes before it has its answer. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const abortUnlessAnswered = (): void => {
    if (!response.writableFinished) controller.abort();
  };
  if (response.destroyed) abortUnlessAnswered();
  else response.once("close", abortUnlessAnswered);
  return controller.signal;
}
