export interface OpenOnce<Value> {
  /** Opens with the first call, for all callers. A failure is told to those that wait for it; the next call opens again. */
  (): Promise<Value>;
  /** For whoever closes it: what is open, or is just being opened. Undefined when nothing is; never rejects. */
  current(): Promise<Value | undefined>;
}

export function openOnce<Value>(open: () => Promise<Value>): OpenOnce<Value> {
  let opened: Promise<Value> | undefined;
  const need = (): Promise<Value> =>
    (opened ??= open().catch((cause: unknown) => {
      opened = undefined;
      throw cause;
    }));
  return Object.assign(need, { current: async () => opened?.catch(() => undefined) });
}
