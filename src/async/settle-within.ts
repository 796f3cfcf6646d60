/** Settles like the promise, or resolves with "late" if the time is up or the signal aborts first. It does not stop the promise. */
export async function settleWithin<T>(
  promise: Promise<T>,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<T | "late"> {
  let giveUp: () => void = () => undefined;
  const late = new Promise<"late">((resolve) => (giveUp = () => resolve("late")));
  const timer = setTimeout(giveUp, timeoutMs);
  signal?.addEventListener("abort", giveUp, { once: true });
  if (signal?.aborted) giveUp();
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}
