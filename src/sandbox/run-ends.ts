import { ShareByKey } from "../async/share-by-key.ts";
import { BelljarError } from "../errors.ts";
import type { EndReason, RecordedRun, SandboxEnd } from "../runtime/contract/run.ts";
import type { Journal } from "./journal.ts";
import type { HeldRun, LocalSandbox } from "./local-sandbox.ts";
import type { HomeNetworks } from "./network/home-networks.ts";
import { notReady } from "./refusals.ts";
import { mayBeKept, mayBeStarting, type RunState, type RunStates, stopOf, withStop } from "./run-states.ts";
import type { Runtimes } from "./runtimes.ts";
import type { SandboxRecord, Tombstone } from "./sandbox-record.ts";
import { removeBase } from "./workspace/base/base-files.ts";

/** What this process holds, for those who write down the ends. */
export interface RunHolder {
  open(record: SandboxRecord): Promise<LocalSandbox | undefined>;
  /** Whether this process holds the run, and was told that it ended. */
  hasSeenEnd(id: string, generation: number): boolean;
  /** Closes the handle. `generation`: only if it is of this run. */
  letGo(id: string, generation?: number): Promise<void>;
}

export interface RunEndsOptions {
  readonly runtimes: Runtimes;
  readonly journal: Journal;
  readonly networks: HomeNetworks;
  readonly states: RunStates;
  readonly report: (problem: string) => void;
  /** Lets go of the checkpoints of a sandbox whose files are removed. */
  readonly forgetStates: (record: SandboxRecord) => Promise<void>;
  readonly holder: RunHolder;
  /** Called once it is written down that a sandbox is stopped. */
  readonly stopped: (record: SandboxRecord) => void;
}

/** A run that is known to be over. */
interface EndedRun {
  readonly generation: number;
  readonly end: SandboxEnd;
}

interface Deletion {
  /** A run that is known to have stopped. */
  readonly over?: number | undefined;
  /** Why, if nobody asked for it. */
  readonly because?: EndReason;
  /** Whether this is the stop after which it is to be deleted. Default: any is. */
  readonly isMeant?: (state: RunState) => boolean;
}

/**
 * The end of runs. A run that was stopped leaves a stopped sandbox. Any other end is the sandbox's: the tombstone is written as soon as it
 * is known, and marked once the runtime has removed what was left.
 */
export class RunEnds {
  readonly #runtimes: Runtimes;
  readonly #journal: Journal;
  readonly #networks: HomeNetworks;
  readonly #states: RunStates;
  readonly #report: (problem: string) => void;
  readonly #forgetStates: RunEndsOptions["forgetStates"];
  readonly #holder: RunHolder;
  readonly #stopped: RunEndsOptions["stopped"];
  readonly #burying = new ShareByKey<void>();
  readonly #settling = new ShareByKey<SandboxEnd | undefined>();

  constructor({ runtimes, journal, networks, states, report, forgetStates, holder, stopped }: RunEndsOptions) {
    this.#stopped = stopped;
    this.#runtimes = runtimes;
    this.#journal = journal;
    this.#networks = networks;
    this.#states = states;
    this.#report = report;
    this.#forgetStates = forgetStates;
    this.#holder = holder;
  }

  /** Writes down how a run ended; with the sandbox's end, clears what it left. What cannot be cleared yet is reported, and swept later. */
  bury({ record, generation }: HeldRun, end: SandboxEnd): Promise<void> {
    return this.#burying.run(`${record.id} ${generation}`, async () => {
      const settled = await this.#reported(record, () => this.settle(record, { generation, end }));
      if (end.kept) return; // whoever looks at it next finds the run's end
      const isBuried = settled !== undefined || (await this.#journal.read(record.id))?.end !== undefined;
      if (!isBuried) await this.#noteEnd(record, { ...end, isCleared: false });
    });
  }

  /**
   * Has the runtime clear what a dead run left. A stopped sandbox is noted as such, of any other what it wrote is removed and the tombstone
   * written. Undefined while it runs, may be in the making, or its keeper is at it. `ended`: the run that is known to be over; a later
   * one is left alone.
   */
  settle(record: SandboxRecord, ended?: EndedRun): Promise<SandboxEnd | undefined> {
    return this.#settling.run(`${record.id} ${ended?.generation ?? ""}`, async () => {
      const state = await this.#states.read(record);
      if (state.phase === "stopped" || (ended && ended.generation !== state.generation)) {
        await this.#holder.letGo(record.id, ended?.generation ?? state.generation);
        return state.phase === "stopped" ? stopOf(state) : ended?.end;
      }
      if (!ended && (await this.#isSpared(record, state))) return undefined;
      const run = this.#states.runOf(record, state);
      const found = await this.#runtimes.need(record).clear(run);
      if (!found) return undefined;
      if (state.phase === "deleted") return this.#remove(record, run, { reason: state.because ?? "killed", at: new Date() });
      const end = await this.#withFiles(record, state, found);
      return end.kept ? this.#noteStop(record, state, end) : this.#remove(record, run, end);
    });
  }

  /** A sandbox that its deadline would stop or pause is kept also if its first run ends unasked, as when the machine restarts. */
  async #withFiles(record: SandboxRecord, state: RunState, end: SandboxEnd): Promise<SandboxEnd> {
    if (end.kept || !mayBeKept(state, end)) return end;
    const isThere = await this.#runtimes.need(record).layers.has(this.#states.runOf(record, state));
    return isThere ? { ...end, kept: true } : end;
  }

  /** If the disk is full, this process goes on to hold the ended run, and so knows of the stop until it is written down. */
  async #noteStop(record: SandboxRecord, { generation }: RunState, end: SandboxEnd): Promise<SandboxEnd> {
    const note = (): Promise<unknown> =>
      this.#states.change(record, (now) => (now.generation === generation ? withStop(now, end) : undefined));
    const full = await ifFull(note);
    if (full) this.#reportUnwritten(record, full);
    else await this.#holder.letGo(record.id, generation);
    if (!full) this.#stopped(record);
    return end;
  }

  async #remove(record: SandboxRecord, run: RecordedRun, { reason, at }: SandboxEnd): Promise<SandboxEnd> {
    await this.#runtimes.need(record).layers.remove(run);
    await this.#forgetStates(record);
    await this.#noteEnd(record, { reason, at, isCleared: true });
    await this.#holder.letGo(record.id);
    await this.#networks.remove(record.id);
    await removeBase(this.#journal.folder(record.id));
    return { reason, at };
  }

  /**
   * Deletes a stopped sandbox. If it was started meanwhile, kills it. The state says so first, so that nobody starts it any more.
   * `over`: a run that is known to have stopped, though its state may not say so. Rejects with `RUNTIME_UNAVAILABLE` while the sandbox
   * is being started.
   */
  async deleteStopped(record: SandboxRecord, over?: number): Promise<void> {
    const found = await this.#markDeleted(record, { over });
    if (!found) return;
    if (found.phase === "running" && found.generation !== over) return this.#killStarted(record, found);
    if ((await this.#journal.read(record.id))?.end) return;
    const end = { reason: "killed", at: new Date() } as const;
    await this.#noteEnd(record, { ...end, isCleared: false });
    await this.bury({ record, generation: found.generation }, end);
  }

  /**
   * Removes a stopped sandbox that nobody asked to remove. False: somebody has started or deleted it meanwhile. `isMeant`: whether this is the
   * stop after which it is to be removed, since a later one may have promised to keep it.
   */
  async removeKept(record: SandboxRecord, because: EndReason, isMeant: (state: RunState) => boolean = () => true): Promise<boolean> {
    const found = await this.#markDeleted(record, { because, isMeant });
    if (found && (found.phase !== "stopped" || !isMeant(found))) return false;
    if (!found) return true;
    const end = { reason: because, at: new Date() };
    await this.#noteEnd(record, { ...end, isCleared: false });
    await this.bury({ record, generation: found.generation }, end);
    return true;
  }

  /** Resolves with the state before. Undefined: the disk had no room for the mark, and the whole sandbox was removed instead. */
  async #markDeleted(record: SandboxRecord, { over, because, isMeant = () => true }: Deletion): Promise<RunState | undefined> {
    let found: RunState | undefined;
    const isStopped = ({ phase, generation }: RunState): boolean => phase === "stopped" || (phase === "running" && generation === over);
    const isOver = (now: RunState): boolean => isStopped(now) && isMeant(now);
    const mark = (): Promise<unknown> =>
      this.#states.change(record, (now) => (isOver((found = now)) ? { ...now, phase: "deleted", because } : undefined));
    if (!(await ifFull(mark)) || !found) return found;
    // No run starts without layers, and none lives while they are removed.
    await this.#runtimes.need(record).layers.remove(this.#states.runOf(record, found));
    if (!(await ifFull(mark))) return found;
    await this.#forgetStates(record);
    await this.#journal.remove(record.id);
    await this.#holder.letGo(record.id);
    await this.#networks.remove(record.id);
    return undefined;
  }

  async #killStarted(record: SandboxRecord, { generation }: RunState): Promise<void> {
    const sandbox = await this.#holder.open(record);
    if (sandbox) return sandbox.kill();
    const end = await this.settle(record);
    if (!end) throw notReady(record);
    if (end.kept) await this.deleteStopped(record, generation);
  }

  /**
   * A run that may be in the making is spared: nobody could tell it from a dead one. Of one that this process has seen to end, or that
   * has a tombstone, that is known.
   */
  async #isSpared(record: SandboxRecord, state: RunState): Promise<boolean> {
    if (this.#holder.hasSeenEnd(record.id, state.generation)) return false;
    return mayBeStarting(state) && !(await this.#journal.read(record.id))?.end;
  }

  /**
   * For a folder that no record explains: undefined as long as one of the runtimes says that it lives. What it wrote is removed, unless a
   * stop promised to keep it: then the end is `kept`.
   */
  async clearUnknown(id: string): Promise<SandboxEnd | undefined> {
    const state = await this.#states.find(id);
    if (state?.phase === "stopped") return stopOf(state);
    const run = { id, generation: state?.generation ?? (await this.#journal.lastRun(id)), folder: this.#journal.folder(id) };
    const ends: SandboxEnd[] = [];
    for (const runtime of this.#runtimes.all()) {
      const end = await runtime.clear(run);
      if (!end) return undefined;
      ends.push(end);
    }
    const kept = ends.find((end) => end.kept);
    if (kept && state?.phase !== "deleted") return kept;
    for (const runtime of this.#runtimes.all()) await runtime.layers.remove(run);
    return { reason: ends[0]?.reason ?? "killed", at: new Date() };
  }

  /** Resolves once the ends that this process has seen are written down, and what they left is cleared or reported. */
  buried(): Promise<void> {
    return this.#burying.idle();
  }

  /** Resolves once all that goes on now has succeeded or failed. */
  async idle(): Promise<void> {
    await this.#burying.idle();
    await this.#settling.idle();
  }

  /** The sandbox has ended, even if the disk has no room for its tombstone. Whoever asks later tries to write it again. */
  async #noteEnd(record: SandboxRecord, end: Tombstone): Promise<void> {
    const full = await ifFull(() => this.#journal.writeEnd(record.id, end));
    if (full) this.#reportUnwritten(record, full);
  }

  #reportUnwritten({ id }: SandboxRecord, { message }: BelljarError): void {
    this.#report(`Sandbox ${id} has ended, and its end is not written down yet: ${message}`);
  }

  async #reported<T>(record: SandboxRecord, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (cause) {
      this.#report(notCleared(record, cause));
      return undefined;
    }
  }
}

export function notCleared({ id }: SandboxRecord, cause: unknown): string {
  return `Sandbox ${id} ended, but what it left cannot be cleared yet: ${String(cause)}`;
}

/** Resolves with the refusal if the disk had no room for what `write` writes. */
async function ifFull(write: () => Promise<unknown>): Promise<BelljarError | undefined> {
  try {
    await write();
    return undefined;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "DISK_FULL") return cause;
    throw cause;
  }
}
