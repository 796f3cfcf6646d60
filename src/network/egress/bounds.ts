import type { Reason } from "./refusal.ts";

/** How much of the way out one sandbox, or all sandboxes of one owner together, may take. */
export interface EgressBounds {
  readonly connections: number;
  /** New ones, on average; ten seconds' worth may come at once. */
  readonly connectionsPerSecond: number;
  /** Both ways together. */
  readonly bytesPerDay: number;
}

const BURST_SECONDS = 10;
/** Requests and name lookups for each new connection that may come: on a kept one they come faster. */
const TURNS_PER_CONNECTION = 5;
const DAY_MS = 86_400_000;

/** What is left of some bounds. */
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

  /** Why one more connection is too much; undefined when it is not. */
  findExcess(): Reason | undefined {
    this.#refill();
    if (this.#connections >= this.#bounds.connections) return "too-many-connections";
    if (this.#tokens < 1) return "too-fast";
    return this.#bytes >= this.#bounds.bytesPerDay ? "too-much-data" : undefined;
  }

  /** To be given back by `close`. */
  open(): void {
    this.#connections += 1;
    this.#tokens -= 1;
  }

  close(): void {
    this.#connections -= 1;
  }

  /** Takes the next request's turn and tells how long it has to wait for it: each one is a line of the audit. */
  takeTurn(): number {
    this.#refill();
    this.#turns -= 1;
    return this.#turns >= 0 ? 0 : (-this.#turns * 1000) / (this.#bounds.connectionsPerSecond * TURNS_PER_CONNECTION);
  }

  /** False once it is too much. */
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
