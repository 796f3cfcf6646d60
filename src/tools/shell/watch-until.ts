import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";

export interface WatchOptions {
  readonly folder: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Looks again after each change in a folder, until `isDone` of what was seen or the time is up; the last that was seen comes back. */
export async function watchUntil<T>(
  sandbox: Sandbox,
  { folder, timeoutMs, signal }: WatchOptions,
  look: () => Promise<{ readonly value: T; readonly isDone: boolean }>,
): Promise<T> {
  let seen = await look();
  if (seen.isDone || timeoutMs <= 0) return seen.value;
  const watching = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const changes = await sandbox.guest.files.watch(folder, { signal: watching });
    seen = await look();
    if (seen.isDone) return seen.value;
    for await (const _ of changes) {
      seen = await look();
      if (seen.isDone) return seen.value;
    }
  } catch (error) {
    if (!watching.aborted || !(error instanceof BelljarError)) throw error;
  }
  signal.throwIfAborted();
  return seen.value;
}
