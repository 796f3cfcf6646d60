import { BatchByKey } from "../../async/batch-by-key.ts";
import { limitTime } from "../../async/limit-time.ts";
import { BelljarError } from "../../errors.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { StateParts } from "./state-parts.ts";
import type { StoredCheckpoint } from "./stored-checkpoint.ts";
import { removeCheckpoint, takeCheckpoint } from "./take-checkpoint.ts";

/** A call waits no longer for its checkpoint. */
const TAKE_MS = 30_000;
/** Of the tools that share a checkpoint. */
const NAMES_MAX = 8;
const KEEP = 20;
/** Of those that are kept, so many more may wait for their removal: several go at once, so that few calls have that work behind them. */
const SLACK = 1 / 4;

export interface AutoCheckpointSettings {
  /** auto: where a checkpoint takes constant time. Default: off. */
  readonly autoCheckpoint?: "auto" | "per_call" | "off";
  /** How many are kept beside that of the last call. */
  readonly autoCheckpointKeep?: number;
}

interface BegunCall {
  readonly record: SandboxRecord;
  readonly tool: string;
}

/**
 * Takes the checkpoints that sandboxes have before each call that may write. Calls that come while one is being taken share the next one, so
 * that it holds all that had ended before them. A call waits until its checkpoint is written down. Older checkpoints are removed after that,
 * in the background. Disposing it waits for that work.
 */
export class AutoCheckpoints implements AsyncDisposable {
  readonly #parts: StateParts;
  readonly #settings: AutoCheckpointSettings;
  readonly #batches = new BatchByKey<BegunCall>((_id, calls) => this.#take(calls));
  readonly #working = new Set<Promise<void>>();
  /** Sandboxes whose calls have been told that no checkpoint could be taken. */
  readonly #told = new Set<string>();
  readonly #closing = new AbortController();

  constructor(parts: StateParts, settings: AutoCheckpointSettings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  /** As `TimeLine.beforeCall`. */
  async before(record: SandboxRecord, tool: string, signal: AbortSignal): Promise<string | undefined> {
    if (!this.#isOn(record)) return undefined;
    try {
      await this.#batches.run(record.id, { item: { record, tool }, signal });
      this.#told.delete(record.id);
      return undefined;
    } catch (cause) {
      signal.throwIfAborted();
      return this.#tellOnce(record, cause);
    }
  }

  /** Those of the last call and of as many before it as are kept. */
  lasting<One extends Pick<StoredCheckpoint, "before">>(all: readonly One[]): readonly One[] {
    const unasked = all.filter(({ before }) => before !== undefined);
    const left = new Set(unasked.slice(0, -1 - this.#kept));
    return all.filter((one) => !left.has(one));
  }

  forget({ id }: SandboxRecord): void {
    this.#told.delete(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#working);
  }

  /** Only while it runs: a call in a stopped sandbox writes nothing. */
  #isOn(record: SandboxRecord): boolean {
    const { live, runtimes } = this.#parts;
    const wish = record.autoCheckpoint ?? this.#settings.autoCheckpoint ?? "off";
    const states = wish === "off" ? undefined : runtimes.of(record)?.layers.states;
    const held = live.held(record.id);
    if (!states || !held) return false;
    return wish === "per_call" || states.way(live.states.runOf(record, held)) === "clone";
  }

  /** Resolves once the checkpoint is written down. */
  #take(calls: readonly BegunCall[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const work = this.#takeAndPrune(calls, resolve).catch(reject);
      this.#working.add(work);
      void work.finally(() => this.#working.delete(work));
    });
  }

  async #takeAndPrune(calls: readonly BegunCall[], kept: () => void): Promise<void> {
    const [first] = calls;
    if (!first) return;
    const { record } = first;
    const before = [...new Set(calls.map(({ tool }) => tool))].slice(0, NAMES_MAX).join(", ");
    using limit = limitTime(this.#closing.signal, TAKE_MS);
    try {
      await takeCheckpoint(this.#parts, { record, more: { before }, signal: limit.signal, kept });
    } catch (cause) {
      if (cause instanceof BelljarError && cause.code === "DISK_FULL") await this.#prune(record, halfOf);
      throw cause;
    }
    await this.#prune(record, (count) => this.#excess(count));
  }

  /** What cannot be removed now is removed after a later call. */
  async #prune(record: SandboxRecord, excess: (count: number) => number): Promise<void> {
    try {
      const unasked = (await this.#parts.checkpoints.list(record.id)).filter(({ before }) => before !== undefined);
      for (const { id } of unasked.slice(0, excess(unasked.length))) await removeCheckpoint(this.#parts, record, id);
    } catch (cause) {
      this.#parts.report(`Old checkpoints of sandbox ${record.id} cannot be removed yet: ${String(cause)}`);
    }
  }

  /** One more than is shown: a rollback is a call too, and does not remove the one that it goes back to. */
  #excess(count: number): number {
    const left = 2 + this.#kept;
    return count > left + Math.floor(this.#kept * SLACK) ? count - left : 0;
  }

  get #kept(): number {
    return this.#settings.autoCheckpointKeep ?? KEEP;
  }

  #tellOnce({ id }: SandboxRecord, cause: unknown): string | undefined {
    if (this.#told.has(id) || isOver(cause)) return undefined;
    this.#told.add(id);
    this.#parts.report(`No checkpoint of sandbox ${id} could be taken before a call: ${String(cause)}`);
    const reason = cause instanceof BelljarError && cause.code !== "CANCELLED" ? cause.message : "it took too long, or failed";
    return `Note: no checkpoint was taken before this call, so it cannot be taken back (${reason}). Calls go on without until one can be taken.`;
  }
}

/** On a full disk a sandbox's own writes go before what nobody asked for. */
function halfOf(count: number): number {
  return Math.ceil(count / 2);
}

/** The call itself will say so. */
function isOver(cause: unknown): boolean {
  return cause instanceof BelljarError && (cause.code === "SANDBOX_ENDED" || cause.code === "SANDBOX_STOPPED");
}
