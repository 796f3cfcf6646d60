/** Settles like the promise, or rejects with the signal's reason at once when it aborts. What goes on then is not waited for. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let give: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => (give = () => reject(signal.reason as Error)));
  signal.addEventListener("abort", give, { once: true });
  if (signal.aborted) give();
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", give);
  }
}
