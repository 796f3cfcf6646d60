import { settleWithin } from "../../async/settle-within.ts";
import { createSandboxId } from "../sandbox-id.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { SnapshotRecord } from "../state/snapshot-record.ts";
import type { PoolFiles } from "./pool-files.ts";
import { poolKeyOfSnapshot } from "./pool-key.ts";
import type { PlannedRecord, PoolMaker, PoolMakerOptions } from "./pool-maker.ts";
import type { PassingStart, PoolCounts, PoolOptions } from "./pool-options.ts";
import { ENDS_WITHIN_MS, FAILED_MS, REFILL_AFTER_MS, type Shelf, Shelves, type Wish } from "./shelves.ts";

export interface PassingKindsOptions extends Pick<PoolMakerOptions, "journal" | "ends"> {
  readonly files: PoolFiles;
  readonly maker: PoolMaker;
  readonly pool: PoolOptions;
  readonly hasSnapshot: (id: string) => Promise<boolean>;
  readonly report: (problem: string) => void;
}

/** The hidden snapshot that a sandbox is made from. */
export interface SnapshotOfCreate {
  readonly id: string;
  /** What is to wait in the next ones. Absent: this create begins no kind. A kind that is there already is filled again. */
  readonly keepsReady: PassingStart | undefined;
}

interface PassingShelf extends Shelf {
  readonly key: string;
  readonly snapshot: string;
  failedAtMs: number;
  idle: NodeJS.Timeout | undefined;
}

/**
 * The kinds of sandboxes that begin with a hidden snapshot. One comes with the first create of it, and goes when it has idled, when kinds
 * that were used later need its place, or when its snapshot is removed. All of them live in this process alone: their sandboxes are
 * ephemeral, so no other one has them. What fails here keeps no other kind from being ready.
 */
export class PassingKinds implements AsyncDisposable {
  readonly #options: PassingKindsOptions;
  /** By key, the least recently used first. */
  readonly #byKey = new Map<string, PassingShelf>();
  /** By the promise that resolves when nothing of the shelf waits any more. */
  readonly #going = new Map<Promise<void>, PassingShelf>();
  readonly #shelves: Shelves;
  #taken = 0;
  #missed = 0;

  constructor(options: PassingKindsOptions) {
    this.#options = options;
    this.#shelves = new Shelves({
      ...options,
      all: () => [...this.#byKey.values()],
      stays: async (shelf) => this.#stays(shelf as PassingShelf),
      failed: (shelf, cause) => this.#failed(shelf as PassingShelf, cause),
    });
  }

  counts(): readonly PoolCounts[] {
    const { passing } = this.#options.pool;
    if (!passing || passing.kinds === 0) return [];
    const ready = [...this.#byKey.values()].reduce((sum, shelf) => sum + shelf.ready.length, 0);
    return [{ kind: passing.name, ready, taken: this.#taken, missed: this.#missed }];
  }

  /** As `SandboxPool.create`. A kind comes once its first sandbox was made: one that cannot be made has none. */
  async create<Made>(record: SandboxRecord, make: Wish<Made>["make"], from: SnapshotOfCreate): Promise<Made> {
    const key = poolKeyOfSnapshot(record, from.id, this.#options.pool.version);
    if (key === undefined) return make(record);
    const known = this.#byKey.get(key);
    if (known) return this.#createOf(known, record, make);
    const made = await make(record);
    if (from.keepsReady !== undefined) this.#begin(key, record, { ...from, keepsReady: from.keepsReady });
    return made;
  }

  /**
   * Resolves when no sandbox of the snapshot can be claimed, whichever process made it, and none of this process is left. Rejects if one
   * cannot be ended, once all others have.
   */
  async retire(snapshot: Pick<SnapshotRecord, "id" | "runtime" | "inside">): Promise<void> {
    const { files } = this.#options;
    for (const shelf of this.#byKey.values()) if (shelf.snapshot === snapshot.id) void this.#drop(shelf);
    await Promise.all([...this.#going].flatMap(([gone, shelf]) => (shelf.snapshot === snapshot.id ? [gone] : [])));
    const failures: unknown[] = [];
    for (const key of await files.keysOf(snapshot.id)) {
      failures.push(...(await this.#endAll(key, snapshot)));
      await files.removeKey(key).catch((cause: unknown) => failures.push(cause));
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("; "));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const left = [...this.#byKey.values()];
    for (const { idle } of left) clearTimeout(idle);
    const gone = Promise.all(this.#going.keys());
    await Promise.all([this.#shelves[Symbol.asyncDispose](), settleWithin(gone, { timeoutMs: ENDS_WITHIN_MS })]);
    for (const { key } of left) await this.#removeKey(key);
  }

  /** Of sandboxes of any process that can be claimed. Resolves with why some could not be ended. */
  async #endAll(key: string, { runtime, inside }: Pick<SnapshotRecord, "runtime" | "inside">): Promise<readonly unknown[]> {
    const { files, maker } = this.#options;
    const failures: unknown[] = [];
    for (const id of files.list(key)) await maker.endOfOther({ id, key, runtime, inside }).catch((cause: unknown) => failures.push(cause));
    return failures;
  }

  async #createOf<Made>(shelf: PassingShelf, record: SandboxRecord, make: Wish<Made>["make"]): Promise<Made> {
    this.#byKey.delete(shelf.key);
    this.#byKey.set(shelf.key, shelf);
    this.#idles(shelf);
    shelf.isWanted ||= performance.now() >= shelf.failedAtMs + FAILED_MS;
    const { made, hasWaited } = await this.#shelves.create({ key: shelf.key, shelf, record, make });
    if (hasWaited) this.#taken += 1;
    else this.#missed += 1;
    return made;
  }

  #begin(key: string, record: SandboxRecord, { id: snapshot, keepsReady }: SnapshotOfCreate & { readonly keepsReady: PassingStart }): void {
    const { passing } = this.#options.pool;
    if (!passing || passing.kinds === 0 || this.#shelves.isClosing) return;
    this.#missed += 1;
    if (this.#byKey.has(key)) return;
    const planned = ofNobody(record);
    const shelf: PassingShelf = {
      key,
      snapshot,
      size: passing.size,
      making: {
        plan: async () => ({ record: { ...planned, id: createSandboxId() }, key }),
        warm: (sandbox, signal) => passing.warm(keepsReady, sandbox, signal),
      },
      ready: [],
      isWanted: true,
      failedAtMs: 0,
      idle: undefined,
    };
    this.#byKey.set(key, shelf);
    this.#idles(shelf);
    for (const oldest of this.#byKey.values()) if (this.#byKey.size > passing.kinds) void this.#drop(oldest);
    this.#shelves.refillAfter(REFILL_AFTER_MS);
  }

  /** From now on. */
  #idles(shelf: PassingShelf): void {
    clearTimeout(shelf.idle);
    const { passing } = this.#options.pool;
    if (!passing || this.#shelves.isClosing || this.#byKey.get(shelf.key) !== shelf) return;
    shelf.idle = setTimeout(() => void this.#drop(shelf), passing.idleMs).unref();
  }

  /** Never rejects. Resolves when nothing of it waits any more. */
  #drop(shelf: PassingShelf): Promise<void> {
    clearTimeout(shelf.idle);
    if (this.#byKey.get(shelf.key) === shelf) this.#byKey.delete(shelf.key);
    const gone = this.#end(shelf).finally(() => this.#going.delete(gone));
    this.#going.set(gone, shelf);
    return gone;
  }

  async #end(shelf: PassingShelf): Promise<void> {
    await this.#shelves.end(shelf);
    if (!this.#byKey.has(shelf.key)) await this.#removeKey(shelf.key);
  }

  async #removeKey(key: string): Promise<void> {
    const left = (cause: unknown) => this.#options.report(`An empty folder of the pool cannot be removed: ${String(cause)}`);
    await this.#options.files.removeKey(key).catch(left);
  }

  /** Another process may have removed the snapshot. */
  async #stays(shelf: PassingShelf): Promise<boolean> {
    if (await this.#options.hasSnapshot(shelf.snapshot)) return true;
    void this.#drop(shelf); // its end waits for whoever asks
    return false;
  }

  /** What is wrong with one kind, such as limits under which nothing starts, is its own. */
  #failed(shelf: PassingShelf, cause: unknown): number {
    shelf.isWanted = false;
    shelf.failedAtMs = performance.now();
    this.#options.report(`No sandbox can wait warm with the packages of a tool: ${String(cause)}`);
    return REFILL_AFTER_MS;
  }
}

/** What is kept of whoever came first: how the sandbox was made, and nothing that was his. */
function ofNobody(record: SandboxRecord): Omit<PlannedRecord, "id"> {
  const { runtime, inside, base, template, user, lineage, limits, required, ephemeral, workspace, nestedFilters, root } = record;
  return { runtime, inside, base, template, user, lineage, limits, required, ephemeral, workspace, nestedFilters, root };
}
