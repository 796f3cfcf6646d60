import { ShareByKey } from "../async/share-by-key.ts";
import { BelljarError } from "../errors.ts";
import type { DeadlineAction, RecordedRun, RunningSandbox, SandboxEnd } from "../runtime/contract/run.ts";
import type { Mount } from "../runtime/contract/sandbox-spec.ts";
import { FactsOfFolders } from "./folder-facts.ts";
import { type InfoLook, Infos } from "./infos.ts";
import type { HomeNetworks } from "./network/home-networks.ts";
import type { NetworkState } from "./network/network-state.ts";
import type { Journal } from "./journal.ts";
import type { HeldRun, SandboxKeeping } from "./local-sandbox.ts";
import { LocalSandbox } from "./local-sandbox.ts";
import type { KeptSandboxes } from "./keeping/kept-sandboxes.ts";
import { type LiveHandle, lifeOf, usageOf } from "./life.ts";
import { lookTogether } from "./look-together.ts";
import { ended, notReady, unflushed } from "./refusals.ts";
import { notCleared, RunEnds, type RunHolder } from "./run-ends.ts";
import { mayBeKept, RunStates, type RunState } from "./run-states.ts";
import type { Runtimes } from "./runtimes.ts";
import type { Life } from "./sandbox-info.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { LastStop, SandboxInfo } from "./sandbox.ts";
import type { WorkspaceBase } from "./workspace/base/base-entry.ts";
import type { BaseTaker } from "./workspace/base/base-taker.ts";

export interface LiveSandboxesOptions {
  readonly runtimes: Runtimes;
  readonly journal: Journal;
  readonly networks: HomeNetworks;
  readonly bases: BaseTaker;
  readonly report: (problem: string) => void;
  /** The volumes of a sandbox, for a run of it. */
  readonly mountsOf: (record: SandboxRecord) => Promise<readonly Mount[]>;
  readonly startAgain: SandboxKeeping["startAgain"];
  readonly timeLine: SandboxKeeping["timeLine"];
  readonly isRolledBack: SandboxKeeping["isRolledBack"];
  /** Lets go of the checkpoints of a sandbox whose files are removed. */
  readonly forgetStates: (record: SandboxRecord) => Promise<void>;
  readonly kept: Pick<KeptSandboxes, "entries" | "facts" | "noteStopped">;
}

/**
 * The runs that this process holds, one for each sandbox. The life of a sandbox, whichever processes have a hand in it:
 *
 *     create --> starting --its guest answers--> live --end that keeps the files--> stopped --kill--> deleted
 *                 |    ^                          |                                 |                    |
 *                 |    +--------------------------|-------------- start ------------+                    | tombstone
 *                 |                               | any other end: tombstone                             |
 *                 | failed                        v                                                      |
 *                 v                             ended <--------------------------------------------------+
 *         no sandbox, or stopped again            | what it wrote and its network are removed
 *                                                 v
 *                                               buried --past its time, by a sweep--> no folder
 *
 *     state     written by                                               where
 *     starting  its creator; from the second run on, whoever starts it   sandbox.json; state.N.json, by one change
 *     live      nobody: its keeper has the lock of the run
 *     stopped   the keeper, then whoever hears of the end first          end.json of the run; state.N.json
 *     deleted   whoever kills a stopped one                              state.N.json
 *     ended     the keeper, then whoever hears of the end first          end.json of the run; tombstone.json
 *     buried    the same, or a sweep                                     tombstone.json, as cleared
 *
 * A run that is starting looks like a dead one. So looks and sweeps spare a young run whose starter lives, and kills reject. Whoever
 * has seen the end of a run decides about that run alone: a later one is none of its business. `RunEnds` writes the last four.
 */
export class LiveSandboxes implements SandboxKeeping, RunHolder, AsyncDisposable {
  readonly #runtimes: Runtimes;
  readonly #journal: Journal;
  readonly networks: HomeNetworks;
  readonly #bases: BaseTaker;
  readonly states: RunStates;
  readonly #facts: FactsOfFolders;
  readonly #report: (problem: string) => void;
  readonly infos: Infos;
  readonly #held = new Map<string, LocalSandbox>();
  readonly #opening = new ShareByKey<LocalSandbox | undefined>();
  readonly #starting = new Set<{ readonly id: string }>();
  readonly ends: RunEnds;
  readonly startAgain: SandboxKeeping["startAgain"];
  readonly mountsOf: LiveSandboxesOptions["mountsOf"];
  readonly timeLine: SandboxKeeping["timeLine"];
  readonly isRolledBack: SandboxKeeping["isRolledBack"];
  #isReleased = false;

  constructor({ runtimes, journal, networks, bases, report, ...more }: LiveSandboxesOptions) {
    this.#runtimes = runtimes;
    this.#journal = journal;
    this.networks = networks;
    this.#bases = bases;
    this.states = new RunStates(journal);
    this.#facts = new FactsOfFolders(journal, this.states);
    this.infos = new Infos({ runtimes, networks, kept: more.kept });
    this.#report = report;
    this.startAgain = more.startAgain;
    this.mountsOf = more.mountsOf;
    this.timeLine = more.timeLine;
    this.isRolledBack = more.isRolledBack;
    const { forgetStates } = more;
    const { states } = this;
    const stopped = more.kept.noteStopped;
    this.ends = new RunEnds({ runtimes, journal, networks, states, report, forgetStates, holder: this, stopped });
  }

  /** One that this process holds and that is not known to have ended. */
  held(id: string): LocalSandbox | undefined {
    const sandbox = this.#held.get(id);
    return sandbox?.end ? undefined : sandbox;
  }

  /** How many of those there are. */
  get count(): number {
    return [...this.#held.values()].filter(({ end }) => !end).length;
  }

  /**
   * Takes over the handle. A run is held only once: two handles would serve two networks, and a change would reach one of them.
   * `network` is the first network state of a new sandbox.
   */
  async hold(record: SandboxRecord, running: RunningSandbox, network?: NetworkState): Promise<LocalSandbox> {
    if (this.#isReleased) {
      await running.release();
      throw new BelljarError("CANCELLED", `Sandbox ${record.id} is alive, but this process is closing`);
    }
    const held = this.held(record.id);
    if (held && held.generation >= running.generation) {
      await running.release();
      return held;
    }
    const earlier = this.#held.get(record.id);
    const sandbox = new LocalSandbox(record, { running, keeping: this, ...(network && { network }) });
    this.#held.set(record.id, sandbox);
    void running.ended.then((end) => this.#buryUnasked(sandbox, end));
    await earlier?.release();
    return sandbox;
  }

  /** Undefined when it does not run, or not yet. */
  open(record: SandboxRecord): Promise<LocalSandbox | undefined> {
    const held = this.held(record.id);
    if (held) return Promise.resolve(held);
    return this.#opening.run(record.id, async () => {
      const running = await this.#openHandle(record);
      return running && this.hold(record, running);
    });
  }

  /**
   * Holds a sandbox that runs, so that this process hears of its end. Writes down an end that nobody has noticed. False while its run is
   * in the making. A run that is being started here is held by its start.
   */
  async follow(record: SandboxRecord): Promise<boolean> {
    if (this.held(record.id)) return true;
    if ([...this.#starting].some(({ id }) => id === record.id)) return false;
    const { generation } = await this.states.read(record);
    if (!this.isOurs(record) || (await this.open(record))) return true;
    const life = await this.findLife(record);
    if (!life) return false;
    if (!("reason" in life)) return this.follow(record); // it began to run after `open` looked
    if (!this.#knownEnd(record)) await this.bury({ record, generation }, life);
    return true;
  }

  /** Until the work has held the new run of the sandbox or failed, `follow` leaves the run alone. */
  async whileStarting<T>({ id }: Pick<SandboxRecord, "id">, work: () => Promise<T>): Promise<T> {
    const start = { id };
    this.#starting.add(start);
    try {
      return await work();
    } finally {
      this.#starting.delete(start);
    }
  }

  bury(run: HeldRun, end: SandboxEnd): Promise<void> {
    return this.ends.bury(run, end);
  }

  deleteStopped(record: SandboxRecord): Promise<void> {
    return this.ends.deleteStopped(record);
  }

  /** The state as it is written now, and the record, outlive a power cut. */
  flushState({ id }: SandboxRecord): Promise<void> {
    return this.#journal.flush(id);
  }

  async flush(record: SandboxRecord): Promise<void> {
    try {
      await this.#journal.flush(record.id);
      await this.#runtimes.need(record).layers.flush(this.states.runOf(record, await this.states.read(record)));
    } catch (cause) {
      const end = (await this.#journal.read(record.id))?.end;
      throw end ? ended(record, end.reason) : unflushed(record, cause);
    }
  }

  base({ id }: SandboxRecord): WorkspaceBase {
    return this.#bases.open(id);
  }

  async noteAction({ record, generation }: HeldRun, action: DeadlineAction): Promise<void> {
    const isNew = (now: RunState): boolean => now.phase === "running" && now.generation === generation && now.action !== action;
    await this.states.change(record, (now) => (isNew(now) ? { ...now, action } : undefined));
  }

  async lastStop({ record, generation }: HeldRun): Promise<LastStop | undefined> {
    const { after, ...now } = await this.states.read(record);
    return now.generation === generation ? after : undefined;
  }

  /** Makes every process that watches the home look at the sandbox. */
  announce({ id }: Pick<SandboxRecord, "id">): void {
    this.#journal.announce(id);
  }

  async info(record: SandboxRecord): Promise<SandboxInfo> {
    const info = await this.findInfo(record);
    if (info) return { ...info }; // the caller's own
    throw notReady(record);
  }

  /** Undefined when it is in the making, or its end is known to nobody yet. `look`: one of many, just now. */
  async findInfo(record: SandboxRecord, look: InfoLook = this.infos.look()): Promise<SandboxInfo | undefined> {
    const life = look.lives?.get(record.id) ?? (await this.#findSeen(record));
    return life && this.infos.of(record, life, look);
  }

  /** For `findInfo`: looks at many together. */
  lookAt(records: readonly SandboxRecord[]): Promise<InfoLook> {
    const presentRun = (record: SandboxRecord, look: InfoLook) => this.#presentRun(record, look);
    const [runtimes, knownEnd] = [this.#runtimes, (record: SandboxRecord) => this.#knownEnd(record)];
    return lookTogether({ runtimes, infos: this.infos, knownEnd, presentRun }, records);
  }

  /** One that is taken up when somebody looks at it is looked at by itself. */
  async #presentRun(record: SandboxRecord, { networks }: InfoLook): Promise<RecordedRun | undefined> {
    const { state } = this.#facts.read(record);
    const isTakenUp = this.networks.servesAll && !this.held(record.id) && (await networks.read(record)).number > 0;
    return state.phase === "running" && !isTakenUp ? this.states.runOf(record, state) : undefined;
  }

  /** How it ended, or how it is now as its keeper says; undefined when it is in the making, or its end is known to nobody yet. */
  async findLife(record: SandboxRecord): Promise<Life | undefined> {
    return this.#knownEnd(record) ?? (await this.#lifeNow(record, usageOf)) ?? (await this.#findEnd(record));
  }

  /** The same for those who look at it: its guest must answer too. */
  async #findSeen(record: SandboxRecord): Promise<Life | undefined> {
    return this.#knownEnd(record) ?? (await this.#lifeNow(record, lifeOf)) ?? (await this.#findEnd(record));
  }

  /** Whether this process has the runtime that made the sandbox. No other runtime can ask it. */
  isOurs(record: SandboxRecord): boolean {
    return this.#runtimes.of(record) !== undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isReleased = true;
    await Promise.all([this.#opening.idle(), this.ends.idle()]);
    await Promise.all([...this.#held.keys()].map((id) => this.letGo(id)));
  }

  #knownEnd(record: SandboxRecord): SandboxEnd | undefined {
    const end = this.#held.get(record.id)?.end;
    const facts = this.#facts.read(record);
    return end && !end.kept && !mayBeKept(facts.state, end) ? end : facts.end;
  }

  /** For one that does not answer; it may have ended, and been buried, since it was asked. */
  async #findEnd(record: SandboxRecord): Promise<SandboxEnd | undefined> {
    return this.#knownEnd(record) ?? this.ends.settle(record);
  }

  /**
   * Undefined when it lives no more. While it is being taken down its end is waited for: whoever asks because a stream broke
   * is told the reason. A handle opened for this one question is closed again.
   */
  async #lifeNow(record: SandboxRecord, look: (handle: LiveHandle) => Promise<Life>): Promise<Life | undefined> {
    if (!this.isOurs(record)) return { silent: `this Belljar does not have its runtime "${record.runtime}"` };
    const held = this.held(record.id) ?? (await this.#takeUp(record));
    const handle = held ?? (await this.#openHandle(record));
    try {
      return handle && (await look(handle));
    } catch (cause) {
      if (cause instanceof BelljarError && (cause.code === "SANDBOX_ENDED" || cause.code === "SANDBOX_STOPPED")) return undefined;
      throw cause;
    } finally {
      if (!held) await handle?.release();
    }
  }

  /** A process that serves all networks holds each run that it sees, since the process that started the run may have died. */
  async #takeUp(record: SandboxRecord): Promise<LocalSandbox | undefined> {
    return this.networks.servesAll && (await this.networks.isKept(record)) ? this.open(record) : undefined;
  }

  async #openHandle(record: SandboxRecord): Promise<RunningSandbox | undefined> {
    const runtime = this.#runtimes.need(record);
    const { state } = this.#facts.read(record);
    return state.phase === "running" ? runtime.open(this.states.runOf(record, state)) : undefined;
  }

  hasSeenEnd(id: string, generation: number): boolean {
    const sandbox = this.#held.get(id);
    return sandbox?.end !== undefined && sandbox.generation === generation;
  }

  async letGo(id: string, generation?: number): Promise<void> {
    const sandbox = this.#held.get(id);
    if (generation !== undefined && sandbox?.generation !== generation) return;
    this.#held.delete(id);
    await sandbox?.release();
  }

  /** What `kill` of this process has buried is held no more. */
  async #buryUnasked(sandbox: LocalSandbox, end: SandboxEnd): Promise<void> {
    if (this.#held.get(sandbox.id) !== sandbox || (end.kept && sandbox.isEndWritten)) return;
    await this.bury(sandbox, end).catch((cause: unknown) => this.#report(notCleared(sandbox.record, cause)));
  }
}
