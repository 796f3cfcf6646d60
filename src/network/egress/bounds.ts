import type { Reason } from "./refusal.ts";

/** The network limits of one sandbox, or of all sandboxes of one owner together. */
export interface EgressBounds {
  readonly connections: number;
  /** Average rate of new connections. The connections of ten seconds may come at once. */
  readonly connectionsPerSecond: number;
  /** Sum of both directions. */
  readonly bytesPerDay: number;
}

const BURST_SECONDS = 10;
/** Requests and DNS lookups may come at so many times the rate of new connections. */
const TURNS_PER_CONNECTION = 5;
const DAY_MS = 86_400_000;

/** Counts what is left of some bounds. */
export class Allowance {
  readonly #bounds: EgressBounds;
  readonly #now: () => number;
  #connections = 0;
  #tokens: number;
  #turns: number;
  #refilledAt: number;
  #bytes = 0;
  #dayBegan: number;

  constructor(bounds: EgressBounds, now: () => number = Date.now) {
    this.#bounds = bounds;
    this.#now = now;
    this.#tokens = bounds.connectionsPerSecond * BURST_SECONDS;
    this.#turns = this.#tokens * TURNS_PER_CONNECTION;
    this.#refilledAt = this.#dayBegan = now();
  }

  /** Returns the reason why one more connection exceeds the bounds, or undefined if it does not. */
  findExcess(): Reason | undefined {
    this.#refill();
    if (this.#connections >= this.#bounds.connections) return "too-many-connections";
    if (this.#tokens < 1) return "too-fast";
    return this.#bytes >= this.#bounds.bytesPerDay ? "too-much-data" : undefined;
  }

  /** Counts one connection. `close` gives it back. */
  open(): void {
    this.#connections += 1;
    this.#tokens -= 1;
  }

  close(): void {
    this.#connections -= 1;
  }

  /** Takes a turn for the next request, and returns the milliseconds to wait for it. This limits the lines of the audit. */
  takeTurn(): number {
    this.#refill();
    this.#turns -= 1;
    return this.#turns >= 0 ? 0 : (-this.#turns * 1000) / (this.#bounds.connectionsPerSecond * TURNS_PER_CONNECTION);
  }

  /** Counts bytes. Returns false once the bound of the day is reached. */
  takeBytes(count: number): boolean {
    this.#bytes += count;
    return this.#bytes < this.#bounds.bytesPerDay;
  }

  #refill(): void {
    const now = this.#now();
    const most = this.#bounds.connectionsPerSecond * BURST_SECONDS;
    const more = (Math.max(0, now - this.#refilledAt) / 1000) * this.#bounds.connectionsPerSecond;
    this.#tokens = Math.min(most, this.#tokens + more);
    this.#turns = Math.min(most * TURNS_PER_CONNECTION, this.#turns + more * TURNS_PER_CONNECTION);
    this.#refilledAt = now;
    if (now - this.#dayBegan < DAY_MS) return;
    this.#dayBegan = now;
    this.#bytes = 0;
  }
}
