/** Opens with the first call, for all callers. A failure is told to those that wait for it; the next call opens again. */
export function openOnce<Value>(open: () => Promise<Value>): () => Promise<Value> {
  let opened: Promise<Value> | undefined;
  return () =>
    (opened ??= open().catch((cause: unknown) => {
      opened = undefined;
      throw cause;
    }));
}
