import { limitTime } from "../../async/limit-time.ts";
import { watchFolder } from "../../files/watch-folder.ts";

interface LookBounds {
  readonly ms: number;
  readonly signal: AbortSignal;
}

/**
 * Calls `look` until it gives a value: now, after each change in the folder, and once more when the time is up or the signal aborts.
 * Undefined: it gave none. A folder that cannot be watched is looked at once.
 */
export async function lookUntil<T>(folder: string, look: () => Promise<T | undefined>, { ms, signal }: LookBounds): Promise<T | undefined> {
  const first = await look();
  if (first !== undefined) return first;
  let isChanged = true; // before the watch began
  let wake: () => void = () => undefined;
  const changed = (): void => {
    isChanged = true;
    wake();
  };
  const watcher = tryWatch(folder, changed);
  if (!watcher) return undefined;
  using time = limitTime(signal, ms);
  time.signal.addEventListener("abort", changed, { once: true });
  try {
    for (;;) {
      if (!isChanged) await new Promise<void>((resolve) => (wake = resolve));
      const isLast = time.signal.aborted;
      isChanged = false;
      const value = await look();
      if (value !== undefined || isLast) return value;
    }
  } finally {
    watcher.close();
  }
}

/** Undefined: the folder is gone, or this user has no watches left. */
function tryWatch(folder: string, changed: () => void): { close(): void } | undefined {
  try {
    return watchFolder(folder, { changed, failed: changed });
  } catch {
    return undefined;
  }
}
