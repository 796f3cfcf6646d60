import { limitTime } from "../../async/limit-time.ts";
import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";

type Look<T> = () => Promise<{ value: T; isDone: boolean }>;

export interface WatchOptions {
  readonly folder: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Looks again after each change in a folder, until `isDone` of what was seen or the time is up; the last that was seen comes back. */
export async function watchUntil<T>(sandbox: Sandbox, { folder, timeoutMs, signal }: WatchOptions, look: Look<T>): Promise<T> {
  const first = await look();
  if (first.isDone || timeoutMs <= 0) return first.value;
  using limited = limitTime(signal, timeoutMs);
  const seen = await lookAtChanges(sandbox, { folder, signal: limited.signal, first: first.value }, look);
  signal.throwIfAborted();
  return seen;
}

interface Watch<T> {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly first: T;
}

async function lookAtChanges<T>(sandbox: Sandbox, { folder, signal, first }: Watch<T>, look: Look<T>): Promise<T> {
  let seen = { value: first, isDone: false };
  try {
    const changes = await sandbox.guest.files.watch(folder, { signal });
    seen = await look();
    if (seen.isDone) return seen.value;
    for await (const _ of changes) {
      seen = await look();
      if (seen.isDone) return seen.value;
    }
  } catch (error) {
    if (!(signal.aborted && error instanceof BelljarError && error.code === "CANCELLED")) throw error;
  }
  return seen.value;
}
