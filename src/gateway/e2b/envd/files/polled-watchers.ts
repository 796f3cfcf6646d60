import { randomBytes } from "node:crypto";
import { BelljarError } from "../../../../errors.ts";
import { isGone } from "../../e2b-errors.ts";
import type { WatchEvent } from "./watch-events.ts";

/** Watches whose events wait here until their client asks for them. */
export interface PolledWatchers extends Disposable {
  /** The events of one sandbox, until the signal that `open` gets aborts. Resolves with the id. Rejects with `PROCESS_LIMIT` for too many. */
  add(place: WatchedPlace, open: (signal: AbortSignal) => Promise<AsyncIterable<WatchEvent>>): Promise<string>;
  /**
   * What has come since the last time. Throws `FILE_NOT_FOUND` for one that this sandbox does not have, and once what ended the events. One whose
   * sandbox has ended is forgotten with its events: nobody can ask for them.
   */
  take(sandbox: string, id: string): readonly WatchEvent[];
  /** Throws `FILE_NOT_FOUND`. */
  remove(sandbox: string, id: string): void;
}

export interface WatchedPlace {
  readonly sandbox: string;
  readonly owner: string;
}

export interface WatcherLimits {
  readonly ofSandbox: number;
  /** Over all sandboxes of one owner: no owner takes the watchers of all others. */
  readonly ofOwner: number;
  readonly all: number;
  /** Events that wait. With one more the watch ends: its client would miss changes. */
  readonly events: number;
  /** What those of all watchers of a sandbox take, about. With more the watch ends whose event is the last. */
  readonly bytesOfSandbox: number;
  /** Time without a question. A watch holds a stream of the guest, and keeps the sandbox awake. */
  readonly idleMs: number;
}

const LIMITS: WatcherLimits = {
  ofSandbox: 32,
  ofOwner: 250,
  all: 1_000,
  events: 10_000,
  bytesOfSandbox: 4 * 1024 * 1024,
  idleMs: 3_600_000,
};

interface Watcher extends WatchedPlace {
  readonly stop: AbortController;
  readonly idle: NodeJS.Timeout;
  events: WatchEvent[];
  bytes: number;
  failure?: unknown;
}

export function createPolledWatchers(limits = LIMITS): PolledWatchers {
  const watchers = new Map<string, Watcher>();
  const waitingBytes = createSums();
  const end = (id: string): void => {
    const watcher = watchers.get(id);
    if (!watcher) return;
    watchers.delete(id);
    waitingBytes.add(watcher.sandbox, -watcher.bytes);
    clearTimeout(watcher.idle);
    watcher.stop.abort();
  };
  const find = (sandbox: string, id: string): Watcher => {
    const watcher = watchers.get(id);
    if (watcher?.sandbox === sandbox) return watcher;
    throw new BelljarError("FILE_NOT_FOUND", `watcher with id ${id} not found`);
  };
  const count = (key: keyof WatchedPlace, value: string): number => [...watchers.values()].filter((one) => one[key] === value).length;
  const isFull = ({ sandbox, owner }: WatchedPlace): boolean =>
    watchers.size >= limits.all || count("owner", owner) >= limits.ofOwner || count("sandbox", sandbox) >= limits.ofSandbox;
  const keep = (id: string, watcher: Watcher, event: WatchEvent): void => {
    // One that was ended takes no more: nothing would give its bytes back.
    if (watchers.get(id) !== watcher) return;
    const bytes = Buffer.byteLength(JSON.stringify(event));
    if (watcher.events.length >= limits.events || waitingBytes.of(watcher.sandbox) + bytes > limits.bytesOfSandbox)
      throw new BelljarError("PROCESS_LIMIT", "Too many events wait: watch again, and ask more often");
    watcher.events.push(event);
    watcher.bytes += bytes;
    waitingBytes.add(watcher.sandbox, bytes);
  };
  return {
    async add({ sandbox, owner }, open) {
      if (isFull({ sandbox, owner })) throw tooMany(limits);
      const id = `w${randomBytes(16).toString("hex")}`;
      const watcher: Watcher = {
        sandbox,
        owner,
        stop: new AbortController(),
        idle: setTimeout(() => end(id), limits.idleMs).unref(),
        events: [],
        bytes: 0,
      };
      watchers.set(id, watcher);
      try {
        const collected = collect(watcher, await open(watcher.stop.signal), (event) => keep(id, watcher, event));
        void collected.then(() => {
          if (watcher.failure instanceof BelljarError && isGone(watcher.failure)) end(id);
        });
      } catch (error) {
        end(id);
        throw error;
      }
      return id;
    },
    take(sandbox, id) {
      const watcher = find(sandbox, id);
      const { events, failure } = watcher;
      waitingBytes.add(sandbox, -watcher.bytes);
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

async function collect(watcher: Watcher, events: AsyncIterable<WatchEvent>, keep: (event: WatchEvent) => void): Promise<void> {
  try {
    for await (const event of events) keep(event);
  } catch (error) {
    watcher.failure = error;
    watcher.stop.abort();
  }
}

/** Running sums: an event costs the same however many watchers there are. A sum of nothing is forgotten. */
function createSums(): { of(key: string): number; add(key: string, amount: number): void } {
  const sums = new Map<string, number>();
  const of = (key: string): number => sums.get(key) ?? 0;
  return {
    of,
    add(key, amount) {
      const sum = of(key) + amount;
      if (sum === 0) sums.delete(key);
      else sums.set(key, sum);
    },
  };
}

function tooMany({ ofSandbox, ofOwner, all }: WatcherLimits): BelljarError {
  const message = `A sandbox has at most ${ofSandbox} watchers, the sandboxes of one owner ${ofOwner}, and a server ${all}: remove those that are done`;
  return new BelljarError("PROCESS_LIMIT", message);
}
