import { BelljarError } from "../errors.ts";
import { AuditBudget, DEFAULT_BUDGETS, type AuditBudgets } from "./audit-budget.ts";
import { DEFAULT_KEEP, type AuditKeep } from "./audit-keep.ts";
import { serialiseFields } from "./audit-line.ts";
import { type AuditHome, segmentsFolder } from "./audit-place.ts";
import { isDiskFull } from "./audit-reserve.ts";
import { AuditStore } from "./audit-store.ts";
import { AuditTally } from "./audit-tally.ts";
import type { Audit, AuditedCall } from "./audit.ts";
import { summarise } from "./audit.ts";

/** An audit in the home: segments of this process, each line chained to the one before. Close it to flush it. */
export interface AuditLog extends Audit, AsyncDisposable {
  /** One connection of a sandbox, as the network tells it: plain JSON. Never throws, and waits for nothing. */
  recordConnection(connection: Fields): void;
  /** One request that was no tool call, as the gateway tells it: plain JSON. Never throws, and waits for nothing. */
  recordRequest(request: Fields): void;
  /** Makes what the first line needs, and removes old segments from now on. Never rejects: what is missing, `assertWritable` tells. */
  prepare(): Promise<void>;
  /** Resolves when all that was recorded is on disk; rejects with `DISK_FULL` or `AUDIT_FAILED` when it cannot be. */
  close(): Promise<void>;
  /** Writes what waits and what was counted at once, for a process that exits. Never throws: what the disk does not take is lost. */
  flushAtExit(): void;
}

export interface AuditLogOptions extends AuditHome, Partial<AuditBudgets> {
  readonly keep?: AuditKeep;
  readonly now?: () => Date;
}

type Fields = Readonly<Record<string, unknown>>;

/** A line that waits to be written. */
interface Waiting {
  readonly text: string;
  /** It tells of work that was done for a caller: the reserve is for these. */
  readonly isOwed: boolean;
}

/** Whose budgets a line takes from. */
interface Payer {
  readonly owner: string;
  readonly sandbox?: string;
}

/** Lines that wait while the disk does not take them; further ones are counted, and counts stay counts. */
const WAITING_MAX = 10_000;
/** Connections of one sandbox that fail again and again alike are one line in so long. */
const REPEATS_MS = 5_000;
const SUMMARIES_MS = 60_000;
/** What sequence and MAC add to a line. */
const CHAIN_BYTES = 100;

/** The segment is made with its first line, for the owner alone. Lines of one tick are one append. */
export function createAuditLog(options: AuditLogOptions): AuditLog {
  return new HomeAudit(options);
}

class HomeAudit implements AuditLog {
  readonly #now: () => Date;
  readonly #folder: string;
  readonly #store: AuditStore;
  readonly #budgets: { readonly sandbox: AuditBudget; readonly connections: AuditBudget; readonly calls: AuditBudget };
  readonly #repeats = new AuditTally();
  readonly #summaries = new AuditTally();
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #failure: unknown;
  #timer: NodeJS.Timeout | undefined;

  constructor({ keep = DEFAULT_KEEP, now = () => new Date(), ...options }: AuditLogOptions) {
    const budgets = { ...DEFAULT_BUDGETS, ...options };
    this.#now = now;
    this.#folder = segmentsFolder(options.home);
    this.#store = new AuditStore({ ...options, keep, now, removed: (fields) => this.#note({ kind: "removed", ...fields }) });
    const ofOwner = (): AuditBudget => new AuditBudget(budgets.ownerBytesPerHour);
    this.#budgets = { sandbox: new AuditBudget(budgets.sandboxBytesPerHour), connections: ofOwner(), calls: ofOwner() };
  }

  assertWritable(): void {
    if (this.#failure === undefined && !this.#isCrowded) return;
    const cause = this.#failure;
    // The next call tries the disk again.
    this.#schedule();
    throw this.#toError(cause, "nothing new runs; listing and ending still work");
  }

  record({ arguments: args, ...call }: AuditedCall): void {
    const { digest, preview } = summarise(args);
    const tool = call.tool.slice(0, 100);
    const durationMs = Math.round(call.durationMs * 1_000) / 1_000;
    const fields = { kind: "call", ...call, tool, durationMs, argumentsSha256: digest, arguments: preview };
    this.#write({ owner: call.principal }, fields, call.outcome);
  }

  recordRequest(request: Fields): void {
    this.#write({ owner: String(request["principal"]) }, { kind: "request", ...request }, request["outcome"]);
  }

  recordConnection(connection: Fields): void {
    const fields = { kind: "connection", ...connection };
    const { verdict, reason, host, sandbox } = connection;
    if (verdict === "allowed") return this.#write(payerOf(fields), fields, verdict);
    const at = this.#now();
    const key = JSON.stringify([sandbox, reason, host]);
    if (this.#repeats.knows(key, at)) this.#repeats.add(key, fields, at);
    else this.#write(payerOf(fields), fields, reason ?? verdict);
    this.#counted(this.#repeats);
  }

  async prepare(): Promise<void> {
    try {
      await this.#store.prepare();
      await this.#store.keep();
    } catch (cause) {
      this.#failure = cause;
    }
  }

  async close(): Promise<void> {
    for (;;) {
      this.#flush(this.#now(), this.#now());
      if (this.#waiting.length === 0 && !this.#writing) break;
      this.#schedule();
      await this.#writing;
      if (this.#failure !== undefined && this.#waiting.length > 0)
        throw this.#toError(this.#failure, `the last ${this.#waiting.length} lines are not written`);
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#store.close();
  }

  flushAtExit(): void {
    this.#flush(this.#now(), this.#now());
    try {
      this.#store.appendAtExit(this.#waiting.map(({ text }) => text));
      this.#waiting = [];
    } catch {
      // Nobody is left who could try again.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** One line, or a count of those for which a budget or the disk has no room. `outcome` is what such ones are told apart by. */
  #write(payer: Payer, fields: Fields, outcome: unknown): void {
    const at = this.#now();
    const text = serialiseFields({ at: at.toISOString(), ...fields });
    const isOwed = fields["kind"] !== "connection";
    if (!this.#isCrowded && this.#pay(payer, { isOwed, text }, at.getTime())) return this.#push({ text, isOwed });
    const { kind: of, verdict, count, sentBytes, receivedBytes } = fields;
    const summary = { kind: "summary", of, ...payer, outcome, verdict, count, sentBytes, receivedBytes };
    // Too many to be told apart: one count of them all.
    if (this.#isCrowded && this.#summaries.isFull)
      this.#summaries.add(JSON.stringify([of]), { kind: "summary", of, count, sentBytes, receivedBytes }, at);
    else this.#summaries.add(JSON.stringify([of, payer.owner, payer.sandbox, outcome]), summary, at);
    this.#counted(this.#summaries);
  }

  /** What sandboxes do by themselves takes nothing from what is kept for their owner's own calls. */
  #pay({ owner, sandbox }: Payer, { isOwed, text }: Waiting, nowMs: number): boolean {
    const bytes = Buffer.byteLength(text) + CHAIN_BYTES;
    const [owners, sandboxes] = [isOwed ? this.#budgets.calls : this.#budgets.connections, this.#budgets.sandbox];
    if (!owners.has(owner, bytes, nowMs) || (sandbox !== undefined && !sandboxes.has(sandbox, bytes, nowMs))) return false;
    owners.take(owner, bytes, nowMs);
    if (sandbox !== undefined) sandboxes.take(sandbox, bytes, nowMs);
    return true;
  }

  #counted(tally: AuditTally): void {
    if (tally.isFull) this.#flush(this.#now(), this.#now());
    this.#timer ??= setInterval(() => this.#flushDue(), REPEATS_MS).unref();
  }

  #flushDue(): void {
    const nowMs = this.#now().getTime();
    this.#flush(new Date(nowMs), new Date(nowMs - SUMMARIES_MS));
    if (!this.#repeats.isEmpty || !this.#summaries.isEmpty) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** What was counted since then or earlier becomes lines; those of summaries are written whatever the budgets say. */
  #flush(repeatsUntil: Date, summariesUntil: Date): void {
    for (const fields of this.#repeats.take(repeatsUntil)) this.#write(payerOf(fields), fields, fields["reason"] ?? fields["verdict"]);
    if (this.#isCrowded) return;
    for (const fields of this.#summaries.take(summariesUntil)) this.#note(fields);
  }

  get #isCrowded(): boolean {
    return this.#waiting.length >= WAITING_MAX;
  }

  /** A line of our own. */
  #note(fields: Fields): void {
    this.#push({ text: serialiseFields({ at: this.#now().toISOString(), ...fields }), isOwed: false });
  }

  #push(line: Waiting): void {
    this.#waiting.push(line);
    this.#schedule();
  }

  /** While the disk fails, each look at it tries again, though nothing waits. */
  #schedule(): void {
    if (this.#writing || (this.#waiting.length === 0 && this.#failure === undefined)) return;
    this.#writing = this.#writeWaiting().finally(() => {
      this.#writing = undefined;
      if (this.#failure === undefined) this.#schedule();
    });
  }

  /** One append of all that waits at the end of this tick. What failed stays first in line. */
  async #writeWaiting(): Promise<void> {
    await Promise.resolve();
    try {
      if (this.#failure !== undefined) await this.#store.prepare();
      await this.#append(() => true);
      this.#failure = undefined;
    } catch (cause) {
      this.#failure = cause;
      if (isDiskFull(cause)) await this.#appendFromReserve();
    }
  }

  /** Writes the lines that are owed; until the disk takes them it is given a little of the reserve. */
  async #appendFromReserve(): Promise<void> {
    const isOwed = (line: Waiting): boolean => line.isOwed;
    do {
      if (!this.#waiting.some(isOwed)) return;
      try {
        return await this.#append(isOwed);
      } catch (cause) {
        if (!isDiskFull(cause)) return;
      }
    } while (this.#store.reserve.take());
  }

  async #append(isWanted: (line: Waiting) => boolean): Promise<void> {
    if (this.#waiting.length === 0) return;
    const segment = await this.#store.segment();
    segment.append(this.#waiting.filter(isWanted).map(({ text }) => text));
    this.#waiting = this.#waiting.filter((line) => !isWanted(line));
    this.#store.noteWritten();
  }

  #toError(cause: unknown, effect: string): BelljarError {
    const advice = `The audit in ${this.#folder} cannot be written, so ${effect}`;
    if (isDiskFull(cause)) return new BelljarError("DISK_FULL", `${advice}: free space on that file system`, { cause });
    return new BelljarError("AUDIT_FAILED", `${advice}: check that this user may write there`, { cause });
  }
}

function payerOf(connection: Fields): Payer {
  return { owner: String(connection["owner"]), sandbox: String(connection["sandbox"]) };
}
