import { setImmediate as nextTurn } from "node:timers/promises";
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

/** The audit of a home, in segments of this process. Each line is chained to the previous line. Closing flushes it. */
export interface AuditLog extends Audit, AsyncDisposable {
  /** Records one connection of a sandbox, as plain JSON. Never throws, and never waits. */
  recordConnection(connection: Fields): void;
  /** Records one request that was no tool call, as plain JSON. Never throws, and never waits. */
  recordRequest(request: Fields): void;
  /** Creates the key, the folders and the reserve. Removes old segments from now on. Never rejects: `assertWritable` reports a failure. */
  prepare(): Promise<void>;
  /** Resolves when all recorded lines are written. Rejects with `DISK_FULL` or `AUDIT_FAILED` if they cannot be written. */
  close(): Promise<void>;
  /** Writes all waiting lines and counts at once, for a process that exits. Never throws: lines that cannot be written are lost. */
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
  /** True for work that was done for a caller. The reserve is for these lines. */
  readonly isOwed: boolean;
}

/** The holders of the budgets that a line is charged to. */
interface Payer {
  readonly owner: string;
  readonly sandbox?: string;
}

/** Maximum number of lines that wait while the disk refuses them. Further lines are only counted. */
const WAITING_MAX = 10_000;
/** Repeated failures of connections, with the same sandbox, reason and host, are one line in this time. */
const REPEATS_MS = 5_000;
const SUMMARIES_MS = 60_000;
/** Bytes that the sequence and the MAC add to a line. */
const CHAIN_BYTES = 100;

/** Creates the audit. A segment is created with its first line, and only this user can read it. A turn of the event loop has at most two appends. */
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
  /** Who waits for the next append, or for its failure. */
  #told: (() => void)[] = [];
  /** Resolves behind the turn of the event loop in which the last append was. */
  #turn: Promise<unknown> = Promise.resolve();
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
    // Try the disk again, for the next call.
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

  written(): Promise<void> {
    if (!this.#writing || this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#told.push(resolve));
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
      // The process exits, so nothing can try again.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Writes one line, or only counts it if a budget or the disk has no room. Counted lines are grouped by `outcome`. */
  #write(payer: Payer, fields: Fields, outcome: unknown): void {
    const at = this.#now();
    const text = serialiseFields({ at: at.toISOString(), ...fields });
    const isOwed = fields["kind"] !== "connection";
    if (!this.#isCrowded && this.#pay(payer, { isOwed, text }, at.getTime())) return this.#push({ text, isOwed });
    const { kind: of, verdict, count, sentBytes, receivedBytes } = fields;
    const summary = { kind: "summary", of, ...payer, outcome, verdict, count, sentBytes, receivedBytes };
    // The tally is full: one count for all further lines of this kind.
    if (this.#isCrowded && this.#summaries.isFull)
      this.#summaries.add(JSON.stringify([of]), { kind: "summary", of, count, sentBytes, receivedBytes }, at);
    else this.#summaries.add(JSON.stringify([of, payer.owner, payer.sandbox, outcome]), summary, at);
    this.#counted(this.#summaries);
  }

  /** Connections have a budget of their own, so that sandboxes cannot use up the budget of their owner's calls. */
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

  /** Writes the counts that began at the given times or earlier. Summaries are charged to no budget. */
  #flush(repeatsUntil: Date, summariesUntil: Date): void {
    for (const fields of this.#repeats.take(repeatsUntil)) this.#write(payerOf(fields), fields, fields["reason"] ?? fields["verdict"]);
    if (this.#isCrowded) return;
    for (const fields of this.#summaries.take(summariesUntil)) this.#note(fields);
  }

  get #isCrowded(): boolean {
    return this.#waiting.length >= WAITING_MAX;
  }

  /** Writes a line of the audit itself, which is charged to no budget. */
  #note(fields: Fields): void {
    this.#push({ text: serialiseFields({ at: this.#now().toISOString(), ...fields }), isOwed: false });
  }

  #push(line: Waiting): void {
    this.#waiting.push(line);
    this.#schedule();
  }

  /** After a failure, each call tries the disk again, even if no line waits. */
  #schedule(): void {
    if (this.#writing || (this.#waiting.length === 0 && this.#failure === undefined)) return;
    this.#writing = this.#writeWaiting().finally(() => {
      this.#writing = undefined;
      if (this.#failure === undefined) this.#schedule();
      else this.#tell();
    });
  }

  #tell(): void {
    for (const tell of this.#told.splice(0)) tell();
  }

  /** Writes all lines that wait, in one append. The first append of a turn is at once. If it fails, the lines stay first in line. */
  async #writeWaiting(): Promise<void> {
    await this.#turn;
    try {
      if (this.#failure !== undefined) await this.#store.prepare();
      await this.#append(() => true);
      this.#failure = undefined;
    } catch (cause) {
      this.#failure = cause;
      if (isDiskFull(cause)) await this.#appendFromReserve();
    }
  }

  /** Writes the owed lines. It gives parts of the reserve back to the disk until they fit. */
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
    this.#turn = nextTurn();
    this.#waiting = this.#waiting.filter((line) => !isWanted(line));
    // At once: a line that is recorded later is not in this append.
    this.#tell();
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
