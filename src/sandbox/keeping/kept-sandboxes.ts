import { mapLimit } from "../../async/map-limit.ts";
import { Turns } from "../../async/turns.ts";
import { BelljarError } from "../../errors.ts";
import type { LayersSize } from "../../runtime/contract/layer-store.ts";
import type { Run, SandboxEnd } from "../../runtime/contract/run.ts";
import type { Journal } from "../journal.ts";
import type { RunState, RunStates } from "../run-states.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { SandboxInfo } from "../sandbox.ts";
import { chooseRemovals, type KeepLimits, type Removal } from "./choose-removals.ts";
import { type KeptEntry, KeptIndex } from "./kept-index.ts";

const PARALLEL = 16;
/** A count may read a whole disk. */
const COUNTS = 2;

export interface KeptSandboxesOptions {
  readonly home: string;
  readonly limits: KeepLimits;
  readonly journal: Pick<Journal, "ids" | "read" | "readRecord">;
  readonly states: Pick<RunStates, "read" | "runOf">;
  /** Undefined if the files are gone, and if this process does not have the runtime of the sandbox. */
  readonly measure: (record: SandboxRecord, run: Run, signal: AbortSignal) => Promise<LayersSize | undefined>;
  /** False: it was started or deleted meanwhile, or stopped anew. */
  readonly remove: (record: SandboxRecord, because: Removal["because"], isMeant: (state: RunState) => boolean) => Promise<boolean>;
  readonly report: (problem: string) => void;
}

/** How many stopped sandboxes there are, and what they hold. */
export interface KeptTotals {
  /** Stopped by their deadlines or without a call. */
  readonly unasked: KeptSum;
  /** Stopped by calls. Nothing removes them unasked. */
  readonly asked: KeptSum;
}

export interface KeptSum {
  readonly count: number;
  readonly diskBytes: number;
  readonly memoryBytes: number;
}

interface Stopped {
  readonly record: SandboxRecord;
  readonly state: RunState;
}

/**
 * The stopped sandboxes of a home: how much they hold, how long they are kept, and the removal of those beyond. Works once a sweep of this
 * process has begun, since commands end too soon. All work is in the background, one piece after the other: no stop waits for it.
 */
export class KeptSandboxes implements AsyncDisposable {
  readonly #options: KeptSandboxesOptions;
  readonly #index: KeptIndex;
  readonly #turns = new Turns();
  #isActive = false;
  readonly #over = new AbortController();

  constructor(options: KeptSandboxesOptions) {
    this.#options = options;
    this.#index = new KeptIndex(options.home);
  }

  /** What is known of the files of stopped sandboxes, by their ids. */
  entries(): ReadonlyMap<string, KeptEntry> {
    return this.#index.entries();
  }

  /** What is told of a sandbox that ended so. `entry`: what is known of its files. */
  facts({ kept, reason, at }: SandboxEnd, entry: KeptEntry | undefined): Pick<SandboxInfo, "keptUntil" | "keptBytes"> {
    if (!kept) return {};
    const { keep } = this.#options.limits;
    return {
      ...(reason !== "stopped" && keep !== undefined && { keptUntil: new Date(at.getTime() + keep) }),
      ...(entry?.stoppedMs === at.getTime() && { keptBytes: entry.bytes }),
    };
  }

  totals(): KeptTotals {
    return totalsOf(this.#index);
  }

  /** Measures what it holds, and makes room if there is too little. */
  noteStopped(record: SandboxRecord): void {
    if (!this.#isActive || this.#over.signal.aborted) return;
    void this.#turns.run(() => this.#reported(() => this.#take(record)));
  }

  noteStarted(id: string): void {
    void this.#reported(async () => this.#index.forget(id));
  }

  /** Measures those that nobody has measured, and removes those that are beyond the limits. */
  async sweep(): Promise<void> {
    this.#isActive = true;
    await this.#turns.run(() => this.#reported(() => this.#sweep()));
  }

  /** Breaks off what is being counted: the next process with upkeep begins anew. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#turns.run(async () => {});
  }

  async #take(record: SandboxRecord): Promise<void> {
    if (this.#over.signal.aborted) return;
    const state = await this.#options.states.read(record);
    if (state.phase !== "stopped") return;
    await this.#measure({ record, state });
    await this.#review();
  }

  async #sweep(): Promise<void> {
    if (this.#over.signal.aborted) return;
    const before = this.#index.entries();
    const stopped = await this.#findStopped(await this.#options.journal.ids());
    const current = new Map(stopped.map((one) => [one.record.id, one]));
    for (const entry of before.values()) if (!isOf(entry, current.get(entry.id)?.state)) this.#index.forget(entry.id, entry);
    await mapLimit(
      stopped.filter(({ record, state }) => !isOf(before.get(record.id), state)),
      COUNTS,
      (one) => this.#reported(() => this.#measure(one)),
    );
    await this.#review();
  }

  async #findStopped(ids: readonly string[]): Promise<readonly Stopped[]> {
    const found = await mapLimit(ids, PARALLEL, async (id): Promise<Stopped | undefined> => {
      const entry = await this.#options.journal.read(id);
      if (!entry || entry.end) return undefined;
      const state = await this.#options.states.read(entry.record).catch(unlessForeseen);
      return state?.phase === "stopped" ? { record: entry.record, state } : undefined;
    });
    return found.filter((one) => one !== undefined);
  }

  /** What nobody can measure now is kept until its time is over, and takes no room from the others. */
  async #measure({ record, state }: Stopped): Promise<void> {
    if (this.#over.signal.aborted || !state.stopped) return;
    const size = await this.#options.measure(record, this.#options.states.runOf(record, state), this.#over.signal).catch(unlessUnavailable);
    const { reason, at } = state.stopped;
    const { bytes = 0, isInMemory = false } = size ?? {};
    const more = { stoppedMs: at.getTime(), bytes, isInMemory, isAsked: reason === "stopped" };
    this.#index.note({ id: record.id, generation: state.generation, ...more });
  }

  async #review(): Promise<void> {
    if (this.#choose().some(({ because }) => because === "no_room")) await this.#forgetStarted();
    for (const removal of this.#choose()) if (!this.#over.signal.aborted) await this.#reported(() => this.#remove(removal));
  }

  #choose(): readonly Removal[] {
    return chooseRemovals(this.#index.entries().values(), { ...this.#options.limits, now: Date.now() });
  }

  /** An entry whose sandbox was started since would cost another one its files. */
  async #forgetStarted(): Promise<void> {
    await mapLimit([...this.#index.entries().values()], PARALLEL, async (entry) => {
      if (!(await this.#find(entry))) this.#index.forget(entry.id, entry);
    });
  }

  /** Undefined unless the sandbox is still stopped as the entry says. */
  async #find(entry: KeptEntry): Promise<SandboxRecord | undefined> {
    const [stopped] = await this.#findStopped([entry.id]);
    return stopped && isOf(entry, stopped.state) ? stopped.record : undefined;
  }

  async #remove({ entry, because }: Removal): Promise<void> {
    const record = await this.#find(entry);
    const isRemoved = record !== undefined && (await this.#options.remove(record, because, (state) => isOf(entry, state)));
    this.#index.forget(entry.id, entry);
    if (isRemoved) this.#options.report(tellRemoval(record, { entry, because }));
  }

  async #reported(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      if (!this.#over.signal.aborted) this.#options.report(`Stopped sandboxes cannot be looked after: ${String(cause)}`);
    }
  }
}

/** Without opening the home. */
export function readKeptTotals(home: string): KeptTotals {
  return totalsOf(new KeptIndex(home));
}

function totalsOf(index: KeptIndex): KeptTotals {
  const entries = [...index.entries().values()];
  return { unasked: sumOf(entries.filter(({ isAsked }) => !isAsked)), asked: sumOf(entries.filter(({ isAsked }) => isAsked)) };
}

function isOf(entry: KeptEntry | undefined, state: RunState | undefined): boolean {
  return entry !== undefined && state?.generation === entry.generation && state.stopped?.at.getTime() === entry.stoppedMs;
}

function sumOf(entries: readonly KeptEntry[]): KeptSum {
  const bytesOf = (isInMemory: boolean): number =>
    entries.filter((entry) => entry.isInMemory === isInMemory).reduce((sum, { bytes }) => sum + bytes, 0);
  return { count: entries.length, diskBytes: bytesOf(false), memoryBytes: bytesOf(true) };
}

function tellRemoval({ id, defaultName }: SandboxRecord, { entry, because }: Removal): string {
  const what = defaultName === undefined ? `Sandbox ${id}` : `Sandbox ${id} (default:${defaultName})`;
  const why = because === "expired" ? "its time was over (sandbox.keep)" : `there was no room (${settingOf(entry)})`;
  return `${what}, stopped since ${new Date(entry.stoppedMs).toISOString()}, was removed with its files: ${why}`;
}

function settingOf({ isInMemory }: KeptEntry): string {
  return isInMemory ? "sandbox.keepMemoryBytes" : "sandbox.keepBytes";
}

function unlessForeseen(cause: unknown): undefined {
  if (!(cause instanceof BelljarError)) throw cause;
}

/** As for files in memory that another user's login holds. */
function unlessUnavailable(cause: unknown): undefined {
  if (!(cause instanceof BelljarError && cause.code === "RUNTIME_UNAVAILABLE")) throw cause;
}
