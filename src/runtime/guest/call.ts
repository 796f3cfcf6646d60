import { Fields, type Field, malformed } from "../../protocol/fields.ts";
import { FRAME, OPERATION } from "../../protocol/wire.ts";
import { cancelled } from "./guest-errors.ts";
import type { SandboxLink } from "./sandbox-link.ts";
import { ignore, openOperation, unexpected, type FrameHandler, type Operation } from "./operation.ts";

/** Maximum time of an operation that keeps reporting that it goes on. */
const LONGEST_MS = 3_600_000;
/** Only these operations may report with an EVENT that they go on, for each EVENT renews the deadline. */
const LONG_WORK: ReadonlySet<number> = new Set([OPERATION.REMOVE, OPERATION.COPY]);

/** Runs an operation whose whole answer is one REPLY. */
export async function call(link: SandboxLink, operation: number, fields: readonly Field[], signal: AbortSignal): Promise<Fields> {
  const reply = new Reply(LONG_WORK.has(operation));
  await openOperation(link, { operation, fields }, reply, signal);
  return reply.promise;
}

class Reply implements FrameHandler {
  readonly promise: Promise<Fields>;
  #operation: Operation | undefined;
  #resolve: (fields: Fields) => void = ignore;
  #reject: (error: Error) => void = ignore;
  readonly #isLong: boolean;
  readonly #endsAt = performance.now() + LONGEST_MS;

  constructor(isLong: boolean) {
    this.#isLong = isLong;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  opened(operation: Operation): void {
    this.#operation = operation;
  }

  frame(type: number, _channel: number, payload: Buffer): void {
    if (type === FRAME.EVENT && this.#isLong) return this.#goesOn();
    if (type !== FRAME.REPLY) throw unexpected(type);
    const answer = Fields.parse(payload);
    this.#operation?.close();
    this.#resolve(answer);
  }

  #goesOn(): void {
    if (performance.now() > this.#endsAt) throw malformed("work without end");
  }

  failed(error: Error): void {
    this.#reject(error);
  }
}

/** The stream is paused while it holds so many rows. The rows of one more chunk may be added. */
const ROWS_HELD = 64;

/** Maximum size of all rows of an answer that the host collects. An honest guest stays far below it. */
const COLLECTED_MAX_BYTES = 16_777_216;
const ROW_OVERHEAD_BYTES = 256;

/** Collects all rows of an answer. Rejects with `GUEST_PROTOCOL` if they exceed `COLLECTED_MAX_BYTES`. */
export async function collectRows(
  link: SandboxLink,
  operation: number,
  fields: readonly Field[],
  signal: AbortSignal,
): Promise<readonly Fields[]> {
  const all: Fields[] = [];
  for await (const row of await Rows.open(link, operation, fields, { row: FRAME.ENTRY, signal, maxBytes: COLLECTED_MAX_BYTES }))
    all.push(row);
  return all;
}

export interface RowsOptions {
  /** The type of frame that carries a row. */
  readonly row: typeof FRAME.ENTRY | typeof FRAME.EVENT;
  /** Called for the REPLY that starts an EVENT stream. The REPLY of an ENTRY stream is its end. */
  readonly onReply?: () => void;
  readonly onFailed?: (error: Error) => void;
  /** The bound for an answer that is collected. */
  readonly maxBytes?: number;
  readonly signal: AbortSignal;
}

/** Yields rows as they arrive. Memory is bounded, because unread rows pause the stream. Leaving the loop closes the operation. */
export class Rows implements FrameHandler, AsyncIterable<Fields> {
  readonly #options: RowsOptions;
  readonly #held: Fields[] = [];
  #operation: Operation | undefined;
  #hasStarted: boolean;
  #isDone = false;
  #bytes = 0;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(options: RowsOptions) {
    this.#options = options;
    this.#hasStarted = options.row === FRAME.ENTRY;
  }

  static async open(link: SandboxLink, operation: number, fields: readonly Field[], options: RowsOptions): Promise<Rows> {
    const rows = new Rows(options);
    await openOperation(link, { operation, fields }, rows, options.signal);
    return rows;
  }

  opened(operation: Operation): void {
    this.#operation = operation;
  }

  frame(type: number, _channel: number, payload: Buffer): void {
    if (type === this.#options.row && this.#hasStarted) this.#take(payload);
    else if (type === FRAME.REPLY) this.#reply();
    else throw unexpected(type);
  }

  failed(error: Error): void {
    this.#error = error;
    this.#options.onFailed?.(error);
    this.#finish();
  }

  #take(payload: Buffer): void {
    this.#bytes += payload.length + ROW_OVERHEAD_BYTES;
    if (this.#options.maxBytes !== undefined && this.#bytes > this.#options.maxBytes) throw malformed("an answer without end");
    this.#held.push(Fields.parse(payload));
    if (this.#held.length >= ROWS_HELD) this.#operation?.pause();
    this.#wake?.();
  }

  #reply(): void {
    this.#hasStarted = true;
    if (this.#options.row === FRAME.EVENT) return this.#options.onReply?.();
    this.#operation?.close();
    return this.#finish();
  }

  #finish(): void {
    this.#isDone = true;
    this.#wake?.();
  }

  close(): void {
    this.#operation?.close();
    this.#finish();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Fields, void, undefined> {
    try {
      while (true) {
        yield* this.#drain();
        if (this.#error) throw this.#error;
        if (this.#isDone) return;
        await this.#more();
      }
    } finally {
      this.close();
    }
  }

  *#drain(): Generator<Fields, void, undefined> {
    for (let row = this.#held.shift(); row; row = this.#held.shift()) {
      if (this.#options.signal.aborted && this.#options.row === FRAME.ENTRY) throw cancelled(this.#options.signal);
      if (this.#held.length === 0) this.#operation?.resume();
      yield row;
    }
  }

  #more(): Promise<void> {
    if (this.#held.length > 0 || this.#isDone) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
