import { Fields, type Field, malformed } from "../../protocol/fields.ts";
import { FRAME, OPERATION } from "../../protocol/wire.ts";
import { cancelled } from "./guest-errors.ts";
import type { SandboxLink } from "./sandbox-link.ts";
import { ignore, openOperation, unexpected, type FrameHandler, type Operation } from "./operation.ts";

/** What says that it goes on goes on for so long at most. */
const LONGEST_MS = 3_600_000;
/** Only these may say that they go on. From any other that word would renew its time without end. */
const LONG_WORK: ReadonlySet<number> = new Set([OPERATION.REMOVE, OPERATION.COPY]);

/** An operation whose whole answer is one REPLY. */
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

/** Rows past this many pause the stream; what one chunk held may come on top. */
const ROWS_HELD = 64;

/** All rows of an answer that the host keeps whole may take so much; an honest guest stays far below. */
const COLLECTED_MAX_BYTES = 16_777_216;
const ROW_OVERHEAD_BYTES = 256;

/** All rows of an answer. Rejects with `GUEST_PROTOCOL` for one without end. */
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
  /** An EVENT stream starts with its REPLY; an ENTRY stream ends with it. */
  readonly onReply?: () => void;
  readonly onFailed?: (error: Error) => void;
  /** For an answer that is kept whole. */
  readonly maxBytes?: number;
  readonly signal: AbortSignal;
}

/** Rows as they come, in bounded memory: the stream is paused while nobody takes them. Leaving the loop closes the operation. */
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
