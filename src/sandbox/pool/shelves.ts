import { repeat } from "../../async/repeat.ts";
import { settleWithin } from "../../async/settle-within.ts";
import type { SandboxEnd } from "../../runtime/contract/run.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { MadeSandbox, Making, PoolMaker, PoolMakerOptions } from "./pool-maker.ts";
import { WAITING_MS } from "./pool-maker.ts";
import type { PoolOptions } from "./pool-options.ts";
import { roomOfHost } from "./spare-host.ts";
import { TakenSandbox } from "./taken-sandbox.ts";

/** A create is followed by calls, which go first. */
export const REFILL_AFTER_MS = 30;
/** So much later than first asked for: a tool that is called all the time keeps no other one from being ready. */
const PUT_OFF_MAX_MS = 300;
const BUSY_MS = 1_000;
const EXTEND_EVERY_MS = WAITING_MS / 3;
/** A process that closes has a second in all. What has not ended by then ends at its deadline. */
export const ENDS_WITHIN_MS = 400;
/** After one that could not be made. */
export const FAILED_MS = 60_000;
/** Of sandboxes that others have claimed a moment before. */
const TAKES_MAX = 4;

/** What this process keeps of one kind. */
export interface Shelf {
  readonly making: Making;
  readonly size: number;
  ready: readonly MadeSandbox[];
  isWanted: boolean;
}

export interface ShelvesOptions extends Pick<PoolMakerOptions, "files" | "journal" | "ends"> {
  readonly maker: PoolMaker;
  readonly pool: Pick<PoolOptions, "handOver" | "room">;
  /** Those that there are now. */
  readonly all: () => readonly Shelf[];
  /** False: no sandbox of this shelf may wait any more. Asked before one is made, and before one is ready. */
  readonly stays?: (shelf: Shelf) => Promise<boolean>;
  /** One could not be made, or ended while it waited. Answers with when to go on. */
  readonly failed: (shelf: Shelf, cause: unknown) => number;
  readonly filled?: (shelf: Shelf) => void;
  readonly report: (problem: string) => void;
}

export interface Wish<Made> {
  readonly key: string;
  /** Absent: this process keeps none of the kind ready. */
  readonly shelf: Shelf | undefined;
  readonly record: SandboxRecord;
  readonly make: (record: SandboxRecord, taken?: TakenSandbox) => Promise<Made>;
}

export interface Created<Made> {
  readonly made: Made;
  readonly hasWaited: boolean;
}

type Known = Pick<MadeSandbox, "id" | "key">;

/**
 * What waits of several kinds: gives it away, each sandbox once, and makes another one afterwards, one at a time, when the host has room. What
 * waits lives as long as this process extends it.
 */
export class Shelves implements AsyncDisposable {
  readonly #options: ShelvesOptions;
  /** Those that a create of this process is about to claim. */
  readonly #reserved = new Set<string>();
  readonly #closing = new AbortController();
  readonly #extending: AsyncDisposable;
  #timer: NodeJS.Timeout | undefined;
  /** The earliest time that the timer was asked for. */
  #dueMs = Infinity;
  /** The sandbox whose deadline is being moved. It is on no shelf meanwhile. */
  #moving: { readonly shelf: Shelf; readonly over: Promise<void> } | undefined;
  #making: { readonly shelf: Shelf; readonly abort: AbortController; readonly over: Promise<void> } | undefined;
  #madeAtMs = -BUSY_MS;

  constructor(options: ShelvesOptions) {
    this.#options = options;
    this.#extending = repeat(() => this.#extendAll(), EXTEND_EVERY_MS);
  }

  get isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Makes the sandbox of a record from one that waits, whose id it then has, else anew. */
  async create<Made>({ key, shelf, record, make }: Wish<Made>): Promise<Created<Made>> {
    try {
      for (let turn = 0; turn < TAKES_MAX; turn++) {
        const one = this.#pick(key, shelf);
        if (one === undefined) break;
        const made = await this.#make(shelf, one, (taken) => make({ ...record, id: taken.id }, taken));
        if (made !== "gone") return { made, hasWaited: true };
      }
      return { made: await make(record), hasWaited: false };
    } finally {
      this.refillAfter(REFILL_AFTER_MS);
    }
  }

  /** Again asked for, it is put off, but not for ever. */
  refillAfter(ms: number): void {
    clearTimeout(this.#timer);
    if (this.isClosing) return;
    const now = performance.now();
    this.#dueMs = Math.min(this.#dueMs, now + ms);
    const delayMs = Math.min(ms, Math.max(0, this.#dueMs + PUT_OFF_MAX_MS - now));
    this.#timer = setTimeout(() => this.#refill(), delayMs).unref();
  }

  /** Ends what waits there, and what is being made for it. The shelf is one of `all` no more. */
  async end(shelf: Shelf): Promise<void> {
    const left = shelf.ready;
    shelf.ready = [];
    const making = this.#making?.shelf === shelf ? this.#making : undefined;
    making?.abort.abort();
    const moving = this.#moving?.shelf === shelf ? this.#moving : undefined;
    await Promise.all([making?.over, moving?.over, ...left.map((one) => this.#end(one))]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    this.#making?.abort.abort();
    const ended = Promise.all([
      this.#extending[Symbol.asyncDispose](),
      this.#making?.over,
      ...this.#options.all().map((shelf) => this.end(shelf)),
    ]);
    await settleWithin(ended, { timeoutMs: ENDS_WITHIN_MS });
  }

  /** The oldest of this process, else any that another process made. */
  #pick(key: string, shelf: Shelf | undefined): Known | MadeSandbox | undefined {
    if (this.isClosing) return undefined;
    const [own, ...rest] = shelf?.ready ?? [];
    if (shelf && own) {
      shelf.ready = rest;
      return own;
    }
    const others = this.#options.files.list(key).filter((id) => !this.#reserved.has(id));
    const id = others[Math.floor(Math.random() * others.length)];
    return id === undefined ? undefined : { id, key };
  }

  async #make<Made>(
    shelf: Shelf | undefined,
    one: Known | MadeSandbox,
    make: (taken: TakenSandbox) => Promise<Made>,
  ): Promise<Made | "gone"> {
    const { pool, journal, ends, files } = this.#options;
    const taken = new TakenSandbox({ ...one, files, journal, ends, handOver: pool.handOver });
    this.#reserved.add(one.id);
    try {
      return await make(taken);
    } catch (cause) {
      // A create that was refused before it claimed leaves the sandbox to the next one.
      if (taken.isWaiting && shelf && "running" in one) await this.#putBack(shelf, one);
      if (!taken.isGone) throw cause;
      if ("running" in one) await one.running.release();
      return "gone";
    } finally {
      this.#reserved.delete(one.id);
    }
  }

  /** One at a time, and the kind of which least is there first. */
  #refill(): void {
    this.#dueMs = Infinity;
    const isShort = ({ isWanted, ready, size }: Shelf): boolean => isWanted && ready.length < size;
    const all = this.#options.all();
    const [shelf] = all.filter(isShort).toSorted((one, other) => one.ready.length - other.ready.length);
    if (!shelf || this.#making || this.isClosing) return;
    const room = (this.#options.pool.room ?? roomOfHost)();
    const waitMs = room === "free" ? 0 : room === "busy" ? this.#madeAtMs + BUSY_MS - performance.now() : BUSY_MS;
    if (waitMs > 0) return this.refillAfter(waitMs);
    this.#madeAtMs = performance.now();
    const abort = new AbortController();
    const over = this.#fill(shelf, abort.signal).then((nextMs) => {
      this.#making = undefined;
      this.refillAfter(nextMs);
    });
    this.#making = { shelf, abort, over };
  }

  /** Resolves with when to go on. */
  async #fill(shelf: Shelf, signal: AbortSignal): Promise<number> {
    const { maker, stays, failed, filled } = this.#options;
    try {
      if (stays && !(await stays(shelf))) return REFILL_AFTER_MS;
      const made = await maker.make(shelf.making, signal);
      if (made) await this.#put(shelf, made);
      else shelf.isWanted = false;
      filled?.(shelf);
      return REFILL_AFTER_MS;
    } catch (cause) {
      return signal.aborted ? REFILL_AFTER_MS : failed(shelf, cause);
    }
  }

  /** Ends it where none of the shelf may wait any more, or nobody can say whether it may. Of one that is claimed, the handle is closed. */
  async #put(shelf: Shelf, made: MadeSandbox): Promise<void> {
    const { files, stays } = this.#options;
    if (this.#reserved.has(made.id)) return made.running.release();
    this.#reserved.add(made.id);
    try {
      const mayWait = (await stays?.(shelf).catch(() => false)) ?? true;
      if (!mayWait || !this.#isOpen(shelf)) return await this.#end(made);
      if (!files.list(made.key).includes(made.id)) return await made.running.release();
      shelf.ready = [...shelf.ready, made];
    } finally {
      this.#reserved.delete(made.id);
    }
    void made.running.ended.then((end) => this.#lost(shelf, made, end));
  }

  /** Nobody has claimed it. */
  async #putBack(shelf: Shelf, made: MadeSandbox): Promise<void> {
    if (this.#isOpen(shelf)) shelf.ready = [made, ...shelf.ready];
    else await this.#end(made);
  }

  #isOpen(shelf: Shelf): boolean {
    return !this.isClosing && this.#options.all().includes(shelf);
  }

  /**
   * One that ended while it was on the shelf. If nobody had claimed it, the next one may end as soon: this counts as one that could not be
   * made.
   */
  async #lost(shelf: Shelf, made: MadeSandbox, { reason }: SandboxEnd): Promise<void> {
    if (!shelf.ready.includes(made)) return;
    shelf.ready = shelf.ready.filter((one) => one !== made);
    const { files, maker, failed } = this.#options;
    await this.#reported(async () => {
      const wasWaiting = files.list(made.key).includes(made.id);
      const nextMs = wasWaiting ? failed(shelf, `One that waited has ended (${reason})`) : BUSY_MS;
      await maker.forget(made.id, made.key);
      this.refillAfter(nextMs);
    });
  }

  async #extendAll(): Promise<number> {
    for (const shelf of this.#options.all()) {
      for (const made of shelf.ready) if (shelf.ready.includes(made)) await this.#move(shelf, made);
    }
    this.refillAfter(REFILL_AFTER_MS);
    return EXTEND_EVERY_MS;
  }

  async #move(shelf: Shelf, made: MadeSandbox): Promise<void> {
    const over = this.#reported(() => this.#extend(shelf, made));
    this.#moving = { shelf, over };
    await over;
    this.#moving = undefined;
  }

  /** Nobody takes it meanwhile, since its handle is the taker's from then on. */
  async #extend(shelf: Shelf, made: MadeSandbox): Promise<void> {
    shelf.ready = shelf.ready.filter((one) => one !== made);
    if (await this.#options.maker.extend(made)) return this.#put(shelf, made);
    await made.running.release();
  }

  #end(made: MadeSandbox): Promise<void> {
    return this.#reported(() => this.#options.maker.end(made));
  }

  async #reported(work: () => Promise<unknown>): Promise<void> {
    await work().catch((cause: unknown) => this.#options.report(`A sandbox that waited cannot be cleared yet: ${String(cause)}`));
  }
}
