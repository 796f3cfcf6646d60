/** The longest delay that a timer of Node takes. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/**
 * Calls `work` after `firstMs`, and then each time after as many milliseconds as it resolved with, until it is disposed. Disposal waits
 * for a call that runs. The timer does not keep the process alive. `work` must not reject.
 */
export function repeat(work: () => Promise<number>, firstMs: number): AsyncDisposable {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let isOver = false;
  const plan = (delayMs: number): void => {
    if (isOver) return;
    timer = setTimeout(() => void (running = work().then(plan)), Math.min(delayMs, DELAY_MAX_MS));
    timer.unref();
  };
  plan(firstMs);
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      clearTimeout(timer);
      await running;
    },
  };
}
