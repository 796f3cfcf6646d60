import { randomBytes } from "node:crypto";
import { appendFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { FIRST_PREVIOUS, chain } from "./audit-chain.ts";
import type { Audit, AuditedCall } from "./audit.ts";
import { summarise } from "./audit.ts";

/** An audit in a folder: one segment file for this process, each line chained to the one before. Close it to flush it. */
export interface AuditLog extends Audit, AsyncDisposable {
  /** One connection of a sandbox, as the network tells it: plain JSON. Never throws, and waits for nothing. */
  recordConnection(connection: Readonly<Record<string, unknown>>): void;
  /** One request that was no tool call, as the gateway tells it: plain JSON. Never throws, and waits for nothing. */
  recordRequest(request: Readonly<Record<string, unknown>>): void;
  /** Resolves when all that was recorded is on disk; rejects with `AUDIT_FAILED` when it cannot be. */
  close(): Promise<void>;
}

export interface AuditLogOptions {
  readonly directory: string;
  readonly now?: () => Date;
}

/** Lines that wait while the disk does not take them; past it the log counts as failed at once. */
const WAITING_MAX = 10_000;

/** The segment is made with its first line, for the owner alone. Calls of one tick are one append. */
export function createAuditLog({ directory, now = () => new Date() }: AuditLogOptions): AuditLog {
  return new Segment(directory, now);
}

class Segment implements AuditLog {
  readonly #directory: string;
  readonly #now: () => Date;
  #path: string | undefined;
  #previous = FIRST_PREVIOUS;
  #sequence = 0;
  #waiting: string[] = [];
  #writing: Promise<void> | undefined;
  #failure: unknown;

  constructor(directory: string, now: () => Date) {
    this.#directory = directory;
    this.#now = now;
  }

  assertWritable(): void {
    if (this.#failure === undefined && this.#waiting.length < WAITING_MAX) return;
    const cause = this.#failure;
    // The next call tries the disk again.
    this.#schedule();
    throw new BelljarError("AUDIT_FAILED", "The audit log cannot be written, so no tool runs; free space in the home's audit folder", {
      cause,
    });
  }

  record({ arguments: args, ...call }: AuditedCall): void {
    const { digest, preview } = summarise(args);
    this.#append({
      kind: "call",
      ...call,
      tool: call.tool.slice(0, 100),
      durationMs: Math.round(call.durationMs * 1_000) / 1_000,
      argumentsSha256: digest,
      arguments: preview,
    });
  }

  recordConnection(connection: Readonly<Record<string, unknown>>): void {
    this.#append({ kind: "connection", ...connection });
  }

  recordRequest(request: Readonly<Record<string, unknown>>): void {
    this.#append({ kind: "request", ...request });
  }

  async close(): Promise<void> {
    while (this.#waiting.length > 0 || this.#writing) {
      this.#schedule();
      await this.#writing;
      if (this.#failure !== undefined) {
        throw new BelljarError("AUDIT_FAILED", `The last ${this.#waiting.length} audit lines could not be written`, {
          cause: this.#failure,
        });
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #append(fields: Readonly<Record<string, unknown>>): void {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(this.#toLine(fields));
    this.#schedule();
  }

  #toLine(fields: Readonly<Record<string, unknown>>): string {
    this.#sequence += 1;
    const body = JSON.stringify({ sequence: this.#sequence, at: this.#now().toISOString(), ...fields });
    this.#previous = chain(this.#previous, body);
    return `${body.slice(0, -1)},"hash":"${this.#previous}"}\n`;
  }

  #schedule(): void {
    if (this.#writing || this.#waiting.length === 0) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
      if (this.#failure === undefined) this.#schedule();
    });
  }

  /** One append of all that waits at the end of this tick. A failed batch stays first in line. */
  async #write(): Promise<void> {
    await Promise.resolve();
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      const path = await this.#open();
      // Into the page cache, in 10 us; the thread pool's three turns would cost a call more than all else at its door.
      appendFileSync(path, batch.join(""), { mode: 0o600 });
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
      this.#waiting = [...batch, ...this.#waiting];
    }
  }

  async #open(): Promise<string> {
    if (this.#path !== undefined) return this.#path;
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const stamp = this.#now().toISOString().replaceAll(/[-:.]/g, "");
    this.#path = join(this.#directory, `${stamp}-${randomBytes(6).toString("hex")}.jsonl`);
    return this.#path;
  }
}
