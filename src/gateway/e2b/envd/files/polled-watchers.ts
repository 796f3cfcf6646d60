import { randomBytes } from "node:crypto";
import { BelljarError } from "../../../../errors.ts";
import type { WatchEvent } from "./watch-events.ts";

export interface WatchedSandbox {
  readonly id: string;
  readonly owner: string;
}

/** Watches whose events wait here until their client asks for them. */
export interface PolledWatchers extends Disposable {
  /** The events of one sandbox, until the signal that `open` gets aborts. Resolves with the id. Rejects with `PROCESS_LIMIT` for too many. */
  add(sandbox: WatchedSandbox, open: (signal: AbortSignal) => Promise<AsyncIterable<WatchEvent>>): Promise<string>;
  /** What has come since the last time. Throws `FILE_NOT_FOUND` for one that this sandbox does not have, and once what ended the events. */
  take(sandbox: string, id: string): readonly WatchEvent[];
  /** Throws `FILE_NOT_FOUND`. */
  remove(sandbox: string, id: string): void;
}

export interface WatcherLimits {
  readonly ofSandbox: number;
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

interface Watcher {
  readonly sandbox: WatchedSandbox;
  readonly stop: AbortController;
  readonly idle: NodeJS.Timeout;
  events: WatchEvent[];
  bytes: number;
  isEnded: boolean;
  failure?: unknown;
}

export function createPolledWatchers(limits = LIMITS): PolledWatchers {
  const watchers = new Map<string, Watcher>();
  const waiting = new WaitingBytes();
  const end = (id: string): void => {
    const watcher = watchers.get(id);
    if (!watcher || !watchers.delete(id)) return;
    waiting.add(watcher.sandbox.id, -watcher.bytes);
    watcher.isEnded = true;
    clearTimeout(watcher.idle);
    watcher.stop.abort();
  };
  const find = (sandbox: string, id: string): Watcher => {
    const watcher = watchers.get(id);
    if (watcher?.sandbox.id === sandbox) return watcher;
    throw new BelljarError("FILE_NOT_FOUND", `watcher with id ${id} not found`);
  };
  const isFull = ({ id, owner }: WatchedSandbox): boolean => {
    const own = [...watchers.values()].filter(({ sandbox }) => sandbox.owner === owner);
    const here = own.filter(({ sandbox }) => sandbox.id === id);
    return here.length >= limits.ofSandbox || own.length >= limits.ofOwner || watchers.size >= limits.all;
  };
  return {
    async add(sandbox, open) {
      if (isFull(sandbox)) throw tooMany(limits);
      const id = `w${randomBytes(16).toString("hex")}`;
      const watcher: Watcher = {
        sandbox,
        stop: new AbortController(),
        idle: setTimeout(() => end(id), limits.idleMs).unref(),
        events: [],
        bytes: 0,
        isEnded: false,
      };
      watchers.set(id, watcher);
      try {
        void collect(watcher, await open(watcher.stop.signal), { limits, waiting });
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
      waiting.add(sandbox, -watcher.bytes);
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

/** What the events take that wait, by sandbox. */
class WaitingBytes {
  readonly #bytes = new Map<string, number>();

  of(sandbox: string): number {
    return this.#bytes.get(sandbox) ?? 0;
  }

  add(sandbox: string, bytes: number): void {
    const now = this.of(sandbox) + bytes;
    if (now > 0) this.#bytes.set(sandbox, now);
    else this.#bytes.delete(sandbox);
  }
}

interface Room {
  readonly limits: WatcherLimits;
  readonly waiting: WaitingBytes;
}

async function collect(watcher: Watcher, events: AsyncIterable<WatchEvent>, { limits, waiting }: Room): Promise<void> {
  const { id } = watcher.sandbox;
  try {
    for await (const event of events) {
      if (watcher.isEnded) return;
      if (watcher.events.length >= limits.events || waiting.of(id) >= limits.bytesOfSandbox)
        throw new BelljarError("PROCESS_LIMIT", "Too many events wait: watch again, and ask more often");
      watcher.events.push(event);
      const bytes = JSON.stringify(event).length + EVENT_BYTES;
      watcher.bytes += bytes;
      waiting.add(id, bytes);
    }
  } catch (error) {
    watcher.failure = error;
    watcher.stop.abort();
  }
}

/** What an event costs beside its texts: its objects. */
const EVENT_BYTES = 200;

function tooMany({ ofSandbox, ofOwner, all }: WatcherLimits): BelljarError {
  const most = `A sandbox has at most ${ofSandbox} watchers, an owner ${ofOwner}, and a server ${all}`;
  return new BelljarError("PROCESS_LIMIT", `${most}: remove those that are done`);
}
