/**
 * Returns a signal that aborts when `signal` aborts, when the time is up, or when it is disposed. Do not replace it by `AbortSignal.any`
 * with `AbortSignal.timeout`: on Node 20 the timeout may be garbage-collected before it fires.
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
