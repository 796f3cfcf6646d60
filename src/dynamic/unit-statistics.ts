import { BelljarError } from "../errors.ts";
import type { ToolResult } from "../catalog/tool.ts";
import type { UnitId } from "./store/unit-store.ts";
import { keyOf } from "./unit-key.ts";

const ERRORS_KEPT = 10;
const MESSAGE_CHARACTERS = 2_000;
/** Units that were called least recently are forgotten. */
const UNITS_MAX = 1_000;

export interface CallError {
  readonly at: Date;
  readonly message: string;
}

/** Of the calls that this process served. */
export interface UnitCounts {
  readonly calls: number;
  readonly errors: number;
  readonly lastCalledAt?: Date;
  readonly totalMs: number;
  /** Newest first. */
  readonly lastErrors: readonly CallError[];
}

export const NO_CALLS: UnitCounts = { calls: 0, errors: 0, totalMs: 0, lastErrors: [] };

/** How often units were called, and what went wrong last. */
export class UnitStatistics {
  /** Nothing that happened earlier is counted. */
  readonly since = new Date();
  readonly #byUnit = new Map<string, UnitCounts>();

  of(unit: UnitId): UnitCounts {
    return this.#byUnit.get(keyOf(unit)) ?? NO_CALLS;
  }

  forget(unit: UnitId): void {
    this.#byUnit.delete(keyOf(unit));
  }

  async counted(unit: UnitId, work: () => Promise<ToolResult>): Promise<ToolResult> {
    const startedAt = performance.now();
    let error: string | undefined;
    try {
      const result = await work();
      const [first] = result.isError ? result.content : [];
      error = first?.type === "text" ? first.text : undefined;
      return result;
    } catch (cause) {
      error = messageFor(cause);
      throw cause;
    } finally {
      this.#note(keyOf(unit), performance.now() - startedAt, error);
    }
  }

  #note(key: string, ms: number, error: string | undefined): void {
    const { calls, errors, totalMs, lastErrors } = this.#byUnit.get(key) ?? NO_CALLS;
    const at = new Date();
    this.#byUnit.delete(key);
    this.#byUnit.set(key, {
      calls: calls + 1,
      errors: errors + (error === undefined ? 0 : 1),
      totalMs: totalMs + ms,
      lastCalledAt: at,
      lastErrors:
        error === undefined
          ? lastErrors
          : [{ at, message: copyOf(error.slice(0, MESSAGE_CHARACTERS)) }, ...lastErrors].slice(0, ERRORS_KEPT),
    });
    const [oldest] = this.#byUnit.keys();
    if (this.#byUnit.size > UNITS_MAX && oldest !== undefined) this.#byUnit.delete(oldest);
  }
}

/** For the owner, who is told also what a caller is not. */
function messageFor(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof BelljarError ? `${cause.message}: ${cause.cause.message}` : cause.message;
}

/** A part of a text holds the whole text in memory. */
function copyOf(text: string): string {
  return Buffer.from(text).toString();
}
