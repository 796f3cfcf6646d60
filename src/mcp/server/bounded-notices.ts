import type { ClientChannel } from "./client-channel.ts";

/** What may be on its way to a client at once. */
const WAITING_MAX = 100;
const WAITING_CHARACTERS_MAX = 256 * 1_024;

type Log = ClientChannel["log"];

/**
 * Sends messages of a log. Those that come faster than the client takes them are dropped: one goes out whatever its length, and others beside it
 * as long as they are few and short together.
 */
export function boundedLog(send: (...message: Parameters<Log>) => Promise<void>): Log {
  let waiting = 0;
  let characters = 0;
  return (...message) => {
    const length = JSON.stringify(message).length;
    if (waiting > 0 && (waiting >= WAITING_MAX || characters + length > WAITING_CHARACTERS_MAX)) return;
    waiting += 1;
    characters += length;
    const taken = (): void => {
      waiting -= 1;
      characters -= length;
    };
    // A message that cannot be sent has no reader any more; the call's own signal tells that to the work.
    send(...message).then(taken, taken);
  };
}

/** Sends that a resource has changed. While the client has not taken that, further changes of it are one more. */
export function mergedUpdates(send: (uri: string) => Promise<void>): (uri: string) => void {
  /** Those on their way, and whether they have changed since. */
  const waiting = new Map<string, boolean>();
  const tell = (uri: string): void => {
    if (waiting.has(uri)) return void waiting.set(uri, true);
    waiting.set(uri, false);
    const taken = (): void => {
      const isChanged = waiting.get(uri) === true;
      waiting.delete(uri);
      if (isChanged) tell(uri);
    };
    send(uri).then(taken, () => waiting.delete(uri));
  };
  return tell;
}
