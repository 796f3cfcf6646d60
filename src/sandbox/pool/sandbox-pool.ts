import type { SandboxRecord } from "../sandbox-record.ts";
import { PassingKinds, type SnapshotOfCreate } from "./passing-kinds.ts";
import { PoolFiles } from "./pool-files.ts";
import { poolKey } from "./pool-key.ts";
import { PoolMaker, type PoolMakerOptions } from "./pool-maker.ts";
import type { PoolCounts, PoolKind, PoolOptions } from "./pool-options.ts";
import { FAILED_MS, REFILL_AFTER_MS, type Shelf, Shelves, type Wish } from "./shelves.ts";

export interface SandboxPoolOptions extends Omit<PoolMakerOptions, "files"> {
  readonly home: string;
  readonly pool: PoolOptions;
  /** The record that a sandbox of these options would have, of nobody. */
  readonly plan: (options: PoolKind["options"]) => Promise<SandboxRecord>;
  /** Whether there still is a hidden snapshot of this id. */
  readonly hasSnapshot: (id: string) => Promise<boolean>;
  readonly report: (problem: string) => void;
}

interface KindShelf extends Shelf {
  readonly kind: PoolKind;
  taken: number;
  missed: number;
}

/**
 * The sandboxes that wait, warm and without an owner. A create that wants the same takes one, made by whichever process of the home; the
 * process that keeps them ready makes another one afterwards. Its kinds are fixed, but for those of hidden snapshots, which come and go.
 */
export class SandboxPool implements AsyncDisposable {
  readonly #options: SandboxPoolOptions;
  readonly #all: readonly KindShelf[];
  readonly #shelves: Shelves;
  readonly #passing: PassingKinds;
  #keys: Promise<ReadonlyMap<string, KindShelf>> | undefined;
  #isFailing = false;

  constructor(options: SandboxPoolOptions) {
    const { home, pool } = options;
    this.#options = options;
    const files = new PoolFiles(home);
    const maker = new PoolMaker({ ...options, files });
    const kinds = pool.kinds.filter(({ size }) => size > 0);
    this.#all = kinds.map((kind) => ({
      kind,
      size: kind.size,
      making: { plan: () => this.#plan(kind), warm: kind.warm },
      ready: [],
      isWanted: false,
      taken: 0,
      missed: 0,
    }));
    const parts = { ...options, files, maker };
    this.#shelves = new Shelves({
      ...parts,
      all: () => this.#all,
      filled: () => (this.#isFailing = false),
      failed: (_shelf, cause) => this.#failed(cause),
    });
    this.#passing = new PassingKinds(parts);
  }

  /** Begins to make those that are wanted from the start on. */
  begin(): void {
    for (const shelf of this.#all) shelf.isWanted ||= shelf.kind.isEager;
    this.#shelves.refillAfter(REFILL_AFTER_MS);
  }

  counts(): readonly PoolCounts[] {
    const own = this.#all.map(({ kind, ready, taken, missed }) => ({ kind: kind.name, ready: ready.length, taken, missed }));
    return [...own, ...this.#passing.counts()];
  }

  /** Makes the sandbox of a record from one that waits, whose id it then has, else anew. */
  async create<Made>(record: SandboxRecord, make: Wish<Made>["make"], from?: SnapshotOfCreate): Promise<Made> {
    if (from) return this.#passing.create(record, make, from);
    const key = poolKey(record, this.#options.pool.version);
    if (key === undefined) return make(record);
    const shelf = (await (this.#keys ??= this.#findKeys())).get(key);
    if (shelf) shelf.isWanted = true;
    const { made, hasWaited } = await this.#shelves.create({ key, shelf, record, make });
    if (shelf) shelf[hasWaited ? "taken" : "missed"] += 1;
    return made;
  }

  /** The hidden snapshot is gone: ends what waits of it, whichever process has it ready. */
  retire(snapshot: Parameters<PassingKinds["retire"]>[0]): Promise<void> {
    return this.#passing.retire(snapshot);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#shelves[Symbol.asyncDispose](), this.#passing[Symbol.asyncDispose]()]);
  }

  async #plan({ options }: PoolKind) {
    const record = await this.#options.plan(options);
    return { record, key: poolKey(record, this.#options.pool.version) };
  }

  /** Which kind a record of this key is. A kind that cannot be planned is reported, and never ready. */
  async #findKeys(): Promise<ReadonlyMap<string, KindShelf>> {
    const keys = new Map<string, KindShelf>();
    for (const shelf of this.#all) {
      try {
        const { key } = await shelf.making.plan();
        if (key !== undefined) keys.set(key, shelf);
      } catch (cause) {
        this.#options.report(`No sandbox can wait as "${shelf.kind.name}": ${String(cause)}`);
      }
    }
    return keys;
  }

  /** The same failure is told once. */
  #failed(cause: unknown): number {
    if (!this.#isFailing && !this.#shelves.isClosing) this.#options.report(`No sandbox can wait warm now: ${String(cause)}`);
    this.#isFailing = true;
    return FAILED_MS;
  }
}
