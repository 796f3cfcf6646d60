import { randomBytes } from "node:crypto";
import { BelljarError } from "../../../../errors.ts";
import type { WatchEvent } from "./watch-events.ts";

/** Watches whose events wait here until their client asks for them. */
export interface PolledWatchers extends Disposable {
  /** The events of one sandbox, until the signal that `open` gets aborts. Resolves with the id. Rejects with `PROCESS_LIMIT` for too many. */
  add(sandbox: string, open: (signal: AbortSignal) => Promise<AsyncIterable<WatchEvent>>): Promise<string>;
  /** What has come since the last time. Throws `FILE_NOT_FOUND` for one that this sandbox does not have, and once what ended the events. */
  take(sandbox: string, id: string): readonly WatchEvent[];
  /** Throws `FILE_NOT_FOUND`. */
  remove(sandbox: string, id: string): void;
}

export interface WatcherLimits {
  readonly ofSandbox: number;
  readonly all: number;
  /** Events that wait. With one more the watch ends: its client would miss changes. */
  readonly events: number;
  /** What those of all watchers of a sandbox take, about. With more the watch ends whose event is the last. */
  readonly bytesOfSandbox: number;
  /** Time without a question. A watch holds a stream of the guest, and keeps the sandbox awake. */
  readonly idleMs: number;
}

const LIMITS: WatcherLimits = { ofSandbox: 32, all: 1_000, events: 10_000, bytesOfSandbox: 4 * 1024 * 1024, idleMs: 3_600_000 };

interface Watcher {
  readonly sandbox: string;
  readonly stop: AbortController;
  readonly idle: NodeJS.Timeout;
  events: WatchEvent[];
  bytes: number;
  failure?: unknown;
}

export function createPolledWatchers(limits = LIMITS): PolledWatchers {
  const watchers = new Map<string, Watcher>();
  const end = (id: string): void => {
    const watcher = watchers.get(id);
    watchers.delete(id);
    clearTimeout(watcher?.idle);
    watcher?.stop.abort();
  };
  const find = (sandbox: string, id: string): Watcher => {
    const watcher = watchers.get(id);
    if (watcher?.sandbox === sandbox) return watcher;
    throw new BelljarError("FILE_NOT_FOUND", `watcher with id ${id} not found`);
  };
  const ofSandbox = (sandbox: string): readonly Watcher[] => [...watchers.values()].filter((one) => one.sandbox === sandbox);
  return {
    async add(sandbox, open) {
      const own = ofSandbox(sandbox);
      if (own.length >= limits.ofSandbox || watchers.size >= limits.all) throw tooMany(limits);
      const id = `w${randomBytes(16).toString("hex")}`;
      const watcher: Watcher = {
        sandbox,
        stop: new AbortController(),
        idle: setTimeout(() => end(id), limits.idleMs).unref(),
        events: [],
        bytes: 0,
      };
      watchers.set(id, watcher);
      try {
        const hasRoom = (): boolean =>
          watcher.events.length < limits.events && ofSandbox(sandbox).reduce((sum, { bytes }) => sum + bytes, 0) < limits.bytesOfSandbox;
        void collect(watcher, await open(watcher.stop.signal), hasRoom);
      } catch (error) {
        end(id);
        throw error;
      }
      return id;
    },
    take(sandbox, id) {
      const watcher = find(sandbox, id);
      const { events, failure } = watcher;
      watcher.events = [];
      watcher.bytes = 0;
      watcher.idle.refresh();
      if (events.length > 0 || failure === undefined) return events;
      end(id);
      throw failure;
    },
    remove(sandbox, id) {
      find(sandbox, id);
      end(id);
    },
    [Symbol.dispose]() {
      for (const id of watchers.keys()) end(id);
    },
  };
}

async function collect(watcher: Watcher, events: AsyncIterable<WatchEvent>, hasRoom: () => boolean): Promise<void> {
  try {
    for await (const event of events) {
      if (!hasRoom()) throw new BelljarError("PROCESS_LIMIT", "Too many events wait: watch again, and ask more often");
      watcher.events.push(event);
      watcher.bytes += JSON.stringify(event).length;
    }
  } catch (error) {
    watcher.failure = error;
    watcher.stop.abort();
  }
}

function tooMany({ ofSandbox, all }: WatcherLimits): BelljarError {
  return new BelljarError("PROCESS_LIMIT", `A sandbox has at most ${ofSandbox} watchers, and a server ${all}: remove those that are done`);
}
