/**
 * A signal that aborts with another one, after a time, or when it is disposed. Whoever holds it keeps it: `AbortSignal.any` over a
 * timeout may be collected before it fires (Node 20).
 */
export function limitTime(signal: AbortSignal, ms: number): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  const timer = setTimeout(() => controller.abort(new DOMException("The time is up", "TimeoutError")), ms);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      controller.abort();
    },
  };
}
