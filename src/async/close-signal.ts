import type { EventEmitter } from "node:events";

/** Aborts when a stream or a connection closes. Disposing it lets go of that, which may live on and serve others. */
export interface CloseSignal extends Disposable {
  readonly signal: AbortSignal;
}

export function closeSignal(stream: EventEmitter & { readonly destroyed: boolean }): CloseSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (stream.destroyed) abort();
  else stream.once("close", abort);
  return { signal: controller.signal, [Symbol.dispose]: () => void stream.off("close", abort) };
}
