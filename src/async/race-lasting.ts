/** By a lasting promise: who races with it now. Undefined once it is settled. */
const racing = new WeakMap<Promise<unknown>, Set<() => void> | undefined>();

/**
 * As `Promise.race`, for a promise that outlives many races. A promise keeps whatever waits for it until it settles, with the results of all
 * races that are long decided; this lets go of each race when it is decided.
 */
export function raceLasting<T, U>(lasting: Promise<T>, work: Promise<U>): Promise<T | U> {
  const waiting = waitingFor(lasting);
  if (!waiting) return Promise.race([lasting, work]);
  return new Promise((resolve, reject) => {
    const end = (): void => resolve(lasting);
    waiting.add(end);
    work.finally(() => waiting.delete(end)).then(resolve, reject);
  });
}

function waitingFor(lasting: Promise<unknown>): Set<() => void> | undefined {
  if (racing.has(lasting)) return racing.get(lasting);
  const waiting = new Set<() => void>();
  racing.set(lasting, waiting);
  const settle = (): void => {
    racing.set(lasting, undefined);
    for (const end of waiting) end();
  };
  lasting.then(settle, settle);
  return waiting;
}
