import { BelljarError } from "../errors.ts";
import type { Principal, Quotas } from "../sandbox/sandbox.ts";
import type { Quota } from "./policy.ts";
import { UNCOUNTED } from "./policy.ts";

const MINUTE_MS = 60_000;
/** Parts of a minute that are counted apart: memory for a principal does not grow with its calls. */
const PARTS = 12;
const PART_MS = MINUTE_MS / PARTS;
/** Principals that are remembered although they did nothing in the last minute. */
const IDLE_MAX = 1_000;

export interface CallQuotaOptions {
  /** For a principal whose token names none. */
  readonly defaults?: Quotas;
  readonly now?: () => number;
}

/**
 * Calls and output of each principal over the last minute, to within five seconds. Counted by this process alone:
 * two servers on one home each give the whole quota.
 */
export function createCallQuota({ defaults = {}, now = Date.now }: CallQuotaOptions = {}): Quota {
  /** Least recently used first. */
  const windows = new Map<string, Window>();
  const windowOf = ({ id }: Principal): Window => {
    const window = windows.get(id) ?? new Window(now);
    windows.delete(id);
    windows.set(id, window);
    for (const [oldest, { isEmpty }] of windows) {
      if (windows.size <= IDLE_MAX || !isEmpty) break;
      windows.delete(oldest);
    }
    return window;
  };
  return {
    enter(principal) {
      const quotas = { ...defaults, ...principal.grants?.quotas };
      if (quotas.callsPerMinute === undefined && quotas.outputBytesPerMinute === undefined) return UNCOUNTED;
      const window = windowOf(principal);
      assertBelow("calls in a minute", quotas.callsPerMinute, window.calls);
      assertBelow("bytes of results in a minute", quotas.outputBytesPerMinute, window.bytes);
      window.calls.add(1);
      return { ...UNCOUNTED, count: (resultBytes) => window.bytes.add(resultBytes) };
    },
  };
}

function assertBelow(what: string, most: number | undefined, counted: Counter): void {
  if (most === undefined || counted.total() < most) return;
  const retryAfterMs = counted.freeInMs(most);
  const seconds = Math.ceil(retryAfterMs / 1000);
  throw new BelljarError("QUOTA_EXCEEDED", `The quota of ${most} ${what} is used up: try again in ${seconds} s`, { retryAfterMs });
}

class Window {
  readonly calls: Counter;
  readonly bytes: Counter;

  constructor(now: () => number) {
    this.calls = new Counter(now);
    this.bytes = new Counter(now);
  }

  get isEmpty(): boolean {
    return this.calls.total() === 0 && this.bytes.total() === 0;
  }
}

/** A sum over the last minute, forgotten part by part. */
class Counter {
  readonly #now: () => number;
  readonly #parts: number[] = Array.from({ length: PARTS }, () => 0);
  #last = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(count: number): void {
    const at = this.#advance() % PARTS;
    this.#parts[at] = (this.#parts[at] ?? 0) + count;
  }

  total(): number {
    this.#advance();
    return this.#parts.reduce((sum, part) => sum + part, 0);
  }

  /** How long until less than `most` is counted, when nothing more comes. */
  freeInMs(most: number): number {
    const current = this.#advance();
    let left = this.total();
    for (let age = PARTS - 1; age >= 0; age -= 1) {
      left -= this.#parts[(current - age + PARTS) % PARTS] ?? 0;
      if (left < most) return (current - age + PARTS) * PART_MS - this.#now();
    }
    return MINUTE_MS;
  }

  /** The number of the present part; those that have gone by since are empty. */
  #advance(): number {
    const current = Math.floor(this.#now() / PART_MS);
    const passed = Math.min(PARTS, current - this.#last);
    for (let part = 0; part < passed; part += 1) this.#parts[(current - part) % PARTS] = 0;
    this.#last = Math.max(current, this.#last);
    return this.#last;
  }
}
