import { repeat } from "../../async/repeat.ts";
import { settleWithin } from "../../async/settle-within.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { PoolFiles } from "./pool-files.ts";
import { poolKey } from "./pool-key.ts";
import { type MadeSandbox, PoolMaker, type PoolMakerOptions, WAITING_MS } from "./pool-maker.ts";
import type { PoolCounts, PoolKind, PoolOptions } from "./pool-options.ts";
import { roomOfHost } from "./spare-host.ts";
import { TakenSandbox } from "./taken-sandbox.ts";

/** A create is followed by calls, which go first. */
const REFILL_AFTER_MS = 30;
const BUSY_MS = 1_000;
const FAILED_MS = 60_000;
const EXTEND_EVERY_MS = WAITING_MS / 3;
/** A process that closes has a second in all. What has not ended by then ends at its deadline. */
const ENDS_WITHIN_MS = 400;
/** Of sandboxes that others have claimed a moment before. */
const TAKES_MAX = 4;

export interface SandboxPoolOptions extends Omit<PoolMakerOptions, "files" | "version"> {
  readonly home: string;
  readonly pool: PoolOptions;
  readonly report: (problem: string) => void;
}

/** What this process keeps of one kind. */
interface Shelf {
  readonly kind: PoolKind;
  ready: readonly MadeSandbox[];
  isWanted: boolean;
  taken: number;
  missed: number;
}

/**
 * The sandboxes that wait, warm and without an owner. A create that wants the same takes one, made by whichever process of the home; the
 * process that keeps them ready makes another one afterwards, one at a time, when the host has room.
 */
export class SandboxPool implements AsyncDisposable {
  readonly #options: SandboxPoolOptions;
  readonly #files: PoolFiles;
  readonly #maker: PoolMaker;
  readonly #shelves: readonly Shelf[];
  /** Those that a create of this process is about to claim. */
  readonly #reserved = new Set<string>();
  readonly #closing = new AbortController();
  readonly #extending: AsyncDisposable;
  #keys: Promise<ReadonlyMap<string, Shelf>> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #making: Promise<void> | undefined;
  #isFailing = false;
  #madeAtMs = -BUSY_MS;

  constructor(options: SandboxPoolOptions) {
    const { home, pool } = options;
    this.#options = options;
    this.#files = new PoolFiles(home);
    this.#maker = new PoolMaker({ ...options, files: this.#files, version: pool.version });
    const kinds = pool.kinds.filter(({ size }) => size > 0);
    this.#shelves = kinds.map((kind) => ({ kind, ready: [], isWanted: false, taken: 0, missed: 0 }));
    this.#extending = repeat(() => this.#extendAll(), EXTEND_EVERY_MS);
  }

  /** Begins to make those that are wanted from the start on. */
  begin(): void {
    for (const shelf of this.#shelves) shelf.isWanted ||= shelf.kind.isEager;
    this.#refillAfter(REFILL_AFTER_MS);
  }

  counts(): readonly PoolCounts[] {
    return this.#shelves.map(({ kind, ready, taken, missed }) => ({ kind: kind.name, ready: ready.length, taken, missed }));
  }

  /** Makes the sandbox of a record from one that waits, whose id it then has, else anew. */
  async create<Made>(record: SandboxRecord, make: (record: SandboxRecord, taken?: TakenSandbox) => Promise<Made>): Promise<Made> {
    const key = poolKey(record, this.#options.pool.version);
    if (key === undefined) return make(record);
    const shelf = (await (this.#keys ??= this.#findKeys())).get(key);
    if (shelf) shelf.isWanted = true;
    try {
      for (let turn = 0; turn < TAKES_MAX; turn++) {
        const one = this.#pick(key, shelf);
        if (one === undefined) break;
        const made = await this.#make(shelf, one, (taken) => make({ ...record, id: taken.id }, taken));
        if (made !== "gone") return made;
      }
      if (shelf) shelf.missed += 1;
      return await make(record);
    } finally {
      this.#refillAfter(REFILL_AFTER_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await settleWithin(this.#end(), { timeoutMs: ENDS_WITHIN_MS });
  }

  async #end(): Promise<void> {
    const left = this.#shelves.flatMap(({ ready }) => ready);
    for (const shelf of this.#shelves) shelf.ready = [];
    await Promise.all([
      this.#extending[Symbol.asyncDispose](),
      this.#making,
      ...left.map((one) => this.#reported(() => this.#maker.end(one))),
    ]);
  }

  /** Which kind a record of this key is. A kind that cannot be planned is reported, and never ready. */
  async #findKeys(): Promise<ReadonlyMap<string, Shelf>> {
    const keys = new Map<string, Shelf>();
    for (const shelf of this.#shelves) {
      await this.#reported(async () => {
        const key = poolKey(await this.#options.plan(shelf.kind.options), this.#options.pool.version);
        if (key !== undefined) keys.set(key, shelf);
      });
    }
    return keys;
  }

  /** The oldest of this process, else any that another process made. */
  #pick(key: string, shelf: Shelf | undefined): Pick<MadeSandbox, "id" | "key"> | MadeSandbox | undefined {
    if (this.#closing.signal.aborted) return undefined;
    const [own, ...rest] = shelf?.ready ?? [];
    if (shelf && own) {
      shelf.ready = rest;
      return own;
    }
    const others = this.#files.list(key).filter((id) => !this.#reserved.has(id));
    const id = others[Math.floor(Math.random() * others.length)];
    return id === undefined ? undefined : { id, key };
  }

  async #make<Made>(
    shelf: Shelf | undefined,
    one: Pick<MadeSandbox, "id" | "key"> | MadeSandbox,
    make: (taken: TakenSandbox) => Promise<Made>,
  ): Promise<Made | "gone"> {
    const { pool, journal, ends } = this.#options;
    const taken = new TakenSandbox({ ...one, files: this.#files, journal, ends, handOver: pool.handOver });
    this.#reserved.add(one.id);
    try {
      const made = await make(taken);
      if (shelf) shelf.taken += 1;
      return made;
    } catch (cause) {
      // A create that was refused before it claimed leaves the sandbox to the next one.
      if (taken.isWaiting && shelf && "running" in one) shelf.ready = [one, ...shelf.ready];
      if (!taken.isGone) throw cause;
      if ("running" in one) await one.running.release();
      return "gone";
    } finally {
      this.#reserved.delete(one.id);
    }
  }

  #refillAfter(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => this.#refill(), ms).unref();
  }

  /** One at a time, and the kind of which least is there first. */
  #refill(): void {
    const isShort = ({ isWanted, ready, kind }: Shelf): boolean => isWanted && ready.length < kind.size;
    const [shelf] = this.#shelves.filter(isShort).toSorted((one, other) => one.ready.length - other.ready.length);
    if (!shelf || this.#making || this.#closing.signal.aborted) return;
    const room = (this.#options.pool.room ?? roomOfHost)();
    const waitMs = room === "free" ? 0 : room === "busy" ? this.#madeAtMs + BUSY_MS - performance.now() : BUSY_MS;
    if (waitMs > 0) return this.#refillAfter(waitMs);
    this.#madeAtMs = performance.now();
    this.#making = this.#fill(shelf).then((nextMs) => {
      this.#making = undefined;
      this.#refillAfter(nextMs);
    });
  }

  /** Resolves with when to go on. The same failure is told once. */
  async #fill(shelf: Shelf): Promise<number> {
    try {
      const made = await this.#maker.make(shelf.kind, this.#closing.signal);
      if (made) await this.#put(shelf, made);
      else shelf.isWanted = false;
      this.#isFailing = false;
      return REFILL_AFTER_MS;
    } catch (cause) {
      if (!this.#isFailing && !this.#closing.signal.aborted) this.#options.report(`No sandbox can wait warm now: ${String(cause)}`);
      this.#isFailing = true;
      return FAILED_MS;
    }
  }

  async #put(shelf: Shelf, made: MadeSandbox): Promise<void> {
    if (this.#closing.signal.aborted) return this.#maker.end(made);
    shelf.ready = [...shelf.ready, made];
    void made.running.ended.then(() => this.#lost(shelf, made));
  }

  /** One that ended while it waited. */
  async #lost(shelf: Shelf, made: MadeSandbox): Promise<void> {
    if (!shelf.ready.includes(made)) return;
    shelf.ready = shelf.ready.filter((one) => one !== made);
    await this.#reported(() => this.#maker.forget(made.id, made.key));
    this.#refillAfter(BUSY_MS);
  }

  async #extendAll(): Promise<number> {
    for (const shelf of this.#shelves) {
      for (const made of shelf.ready) if (shelf.ready.includes(made)) await this.#extend(shelf, made);
    }
    this.#refillAfter(REFILL_AFTER_MS);
    return EXTEND_EVERY_MS;
  }

  /** Nobody takes it meanwhile, since its handle is the taker's from then on. */
  async #extend(shelf: Shelf, made: MadeSandbox): Promise<void> {
    shelf.ready = shelf.ready.filter((one) => one !== made);
    if (await this.#maker.extend(made)) return this.#put(shelf, made);
    await made.running.release();
  }

  async #reported(work: () => Promise<unknown>): Promise<void> {
    await work().catch((cause: unknown) => this.#options.report(`A sandbox that waited cannot be cleared yet: ${String(cause)}`));
  }
}
