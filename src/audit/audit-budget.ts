/** Maximum size of the audit lines per hour. Beyond it, lines are only counted, and the counts are written. */
export interface AuditBudgets {
  /** For the connections of one sandbox. */
  readonly sandboxBytesPerHour: number;
  /** For the calls and requests of one owner. The connections of all its sandboxes have a second budget of this size. */
  readonly ownerBytesPerHour: number;
}

const MIB = 1_048_576;
export const DEFAULT_BUDGETS: AuditBudgets = { sandboxBytesPerHour: 4 * MIB, ownerBytesPerHour: 32 * MIB };

const HOUR_MS = 3_600_000;
const HOLDERS_MAX = 10_000;

interface Purse {
  left: number;
  filledMs: number;
}

/** One kind of budget, for each holder (an owner or a sandbox). It may be used up at once, and refills evenly in an hour. */
export class AuditBudget {
  readonly #bytesPerHour: number;
  /** The least recently used purse comes first. */
  readonly #purses = new Map<string, Purse>();

  constructor(bytesPerHour: number) {
    this.#bytesPerHour = bytesPerHour;
  }

  has(holder: string, bytes: number, nowMs: number): boolean {
    return this.#purseOf(holder, nowMs).left >= bytes;
  }

  take(holder: string, bytes: number, nowMs: number): void {
    this.#purseOf(holder, nowMs).left -= bytes;
  }

  #purseOf(holder: string, nowMs: number): Purse {
    const purse = this.#purses.get(holder) ?? { left: this.#bytesPerHour, filledMs: nowMs };
    this.#purses.delete(holder);
    this.#purses.set(holder, purse);
    purse.left = Math.min(this.#bytesPerHour, purse.left + (Math.max(0, nowMs - purse.filledMs) / HOUR_MS) * this.#bytesPerHour);
    purse.filledMs = nowMs;
    if (this.#purses.size > HOLDERS_MAX) this.#forgetOldest();
    return purse;
  }

  #forgetOldest(): void {
    const [oldest] = this.#purses.keys();
    if (oldest !== undefined) this.#purses.delete(oldest);
  }
}
