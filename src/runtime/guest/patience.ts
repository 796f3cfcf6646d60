import { BelljarError } from "../../errors.ts";
import type { Field } from "../../protocol/fields.ts";
import { OPERATION } from "../../protocol/wire.ts";

/** Maximum silence of a guest that owes an answer. An honest guest is this slow only on a host that stands still. */
export const ANSWER_MS = 20_000;
/** Maximum time for which a guest that owes an answer can be excused by a STILL. An honest STILL ends before. */
const STILL_MAX_MS = 150_000;
/** Time that a command gets beyond its timeout. An honest guest has ended the command long before. */
const TIMEOUT_GRACE_MS = 5_000;

/** What the guest owes within the time: the next frame, a sign of life on another stream, or nothing. */
type Debt = "word" | "life" | "nothing";

interface Debts {
  readonly first: Debt;
  readonly afterwards: Debt;
  /** Time that the work itself may take before the answer can come. */
  readonly workMs?: number;
}

const WORDS: Debts = { first: "word", afterwards: "word" };
const NOTHING: Debts = { first: "nothing", afterwards: "nothing" };

/** All other operations owe frames from the request to the last frame. Long work reports each second that it goes on. */
const DEBTS: Readonly<Record<number, Debts>> = {
  [OPERATION.EXEC]: { first: "word", afterwards: "life" },
  [OPERATION.DIAL]: { first: "word", afterwards: "life" },
  [OPERATION.ACCEPT]: { first: "nothing", afterwards: "life" },
  [OPERATION.ATTACH]: { first: "word", afterwards: "life" },
  [OPERATION.LISTEN]: { first: "word", afterwards: "nothing" },
  // The host has limits of its own for its answers (`still.ts`).
  [OPERATION.STILL]: NOTHING,
  [OPERATION.WATCH]: { first: "word", afterwards: "nothing" },
  [OPERATION.KEEPER_WAIT]: NOTHING,
  [OPERATION.KEEPER_KILL]: { ...WORDS, workMs: 7_000 },
  // As `RAISE_SECONDS` of `native/jail/raise.c`.
  [OPERATION.KEEPER_RAISE]: { ...WORDS, workMs: 10_000 },
};

export interface PatienceOptions {
  readonly operation: number;
  readonly fields: readonly Field[];
  readonly answerMs: number;
  /** Returns true while the guest waits for the host: its silence is no failure. */
  readonly isOurTurn: () => boolean;
  /** Returns true while the sandbox is frozen on purpose: no deadline passes until it is resumed. */
  readonly isPaused: () => Promise<boolean>;
  /** Returns true while the guest says that everything stands still: calls wait for its end. */
  readonly standsStill: () => Promise<boolean>;
  /** Rejects with `SANDBOX_UNRESPONSIVE` when the guest gives no sign of life. */
  readonly findLife: () => Promise<void>;
  readonly onSilent: () => void;
}

/**
 * The host's own deadlines for one operation. They do not trust the guest. They limit its silence, never the length of an honest
 * transfer. For a command they also limit the time beyond its timeout.
 */
export class Patience {
  readonly #options: PatienceOptions;
  readonly #debts: Debts;
  readonly #answerMs: number;
  #heardAt = performance.now();
  /** When the guest's answer became due, however often the time began again since. */
  #owesSince = performance.now();
  #hasAnswered = false;
  #isOver = false;
  #silence: NodeJS.Timeout | undefined;
  #end: NodeJS.Timeout | undefined;

  constructor(options: PatienceOptions) {
    const { operation, fields } = options;
    const timeoutMs = timeoutOf(fields);
    this.#options = options;
    this.#debts = DEBTS[operation] ?? WORDS;
    // The TIMEOUT_MS of SHUTDOWN is the grace of the processes. The guest answers only after it.
    this.#answerMs = options.answerMs + (this.#debts.workMs ?? 0) + (operation === OPERATION.SHUTDOWN ? timeoutMs : 0);
    if (this.#debts !== NOTHING) this.#watchSilence(this.#answerMs);
    if (operation === OPERATION.EXEC && timeoutMs > 0) this.#watchEnd(timeoutMs + TIMEOUT_GRACE_MS);
  }

  /** Called for each received frame. */
  heard(): void {
    this.#owesSince = this.#heardAt = performance.now();
    this.#hasAnswered = true;
  }

  /** Called when the host has done its part. The time begins again. */
  renew(): void {
    this.#owesSince = this.#heardAt = performance.now();
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#silence);
    clearTimeout(this.#end);
  }

  get #debt(): Debt {
    return this.#hasAnswered ? this.#debts.afterwards : this.#debts.first;
  }

  #watchSilence(afterMs: number): void {
    this.#silence = setTimeout(() => void this.#lookAtSilence(), Math.min(afterMs, TIMER_MAX_MS)).unref();
  }

  async #lookAtSilence(): Promise<void> {
    const leftMs = this.#heardAt + this.#answerMs - performance.now();
    if (leftMs > 0) return this.#watchSilence(leftMs);
    const isSilent = this.#debt !== "nothing" && !this.#options.isOurTurn() && (await this.#givesNoSign(this.#debt));
    if (this.#isOver) return undefined;
    if (isSilent && performance.now() >= this.#heardAt + this.#answerMs) return this.#options.onSilent();
    this.#heardAt = performance.now();
    return this.#watchSilence(this.#answerMs);
  }

  async #givesNoSign(debt: Debt): Promise<boolean> {
    if (await this.#options.isPaused()) return false;
    if (debt === "word") return !(await this.#waitsForStill());
    return this.#options.findLife().then(
      () => false,
      (cause: unknown) => cause instanceof BelljarError && cause.code === "SANDBOX_UNRESPONSIVE",
    );
  }

  /** A STILL keeps all operations waiting but PING, and no keeper's. */
  async #waitsForStill(): Promise<boolean> {
    const { operation, standsStill } = this.#options;
    if (operation === OPERATION.PING || operation >= OPERATION.KEEPER_STATUS) return false;
    return performance.now() < this.#owesSince + STILL_MAX_MS && standsStill();
  }

  #watchEnd(afterMs: number): void {
    this.#end = setTimeout(() => void this.#lookAtEnd(), Math.min(afterMs, TIMER_MAX_MS)).unref();
  }

  /** A slow reader on the host may not have taken all output yet. That is no fault of the guest. */
  async #lookAtEnd(): Promise<void> {
    const isLate = !this.#options.isOurTurn() && !(await this.#options.isPaused());
    if (this.#isOver) return undefined;
    return isLate ? this.#options.onSilent() : this.#watchEnd(TIMEOUT_GRACE_MS);
  }
}

const TIMER_MAX_MS = 2_147_483_647;

function timeoutOf(fields: readonly Field[]): number {
  const value = fields.find(([tag]) => tag === "TIMEOUT_MS")?.[1];
  return typeof value === "number" ? value : 0;
}
