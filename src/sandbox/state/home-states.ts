import type { LiveSandboxes } from "../live-sandboxes.ts";
import type { OwnTimeLine } from "../own-sandbox.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { Quotas } from "../sandbox.ts";
import type { StartGuard } from "../start-again.ts";
import type { HomeTemplates } from "../template-source.ts";
import { CheckpointFiles } from "./checkpoint-files.ts";
import { AutoCheckpoints, type AutoCheckpointSettings } from "./auto-checkpoints.ts";
import type { Comparison } from "./comparison.ts";
import { finishRewind, rewindUser } from "./finish-rewind.ts";
import { HomeHiddenSnapshots, type SnapshotRetired } from "./hidden-snapshots.ts";
import { HomeSnapshots, type SnapshotParts } from "./home-snapshots.ts";
import { HomeTimeLine, type TimeLineParts } from "./home-time-line.ts";
import { openSnapshotFiles, openSnapshotRoom } from "./snapshot-files.ts";
import type { StateParts } from "./state-parts.ts";
import { needStates } from "./state-errors.ts";
import { originUser, StateUsers } from "./state-users.ts";
import { checkpointUser } from "./take-checkpoint.ts";
import { WorkLock } from "./work-lock.ts";

export interface HomeStatesOptions extends Pick<StateParts, "journal" | "runtimes" | "beforeFreeze" | "report"> {
  readonly home: string;
  readonly live: LiveSandboxes;
  readonly records: SnapshotParts["records"];
  readonly comparison: Comparison;
  readonly templates: HomeTemplates | undefined;
  readonly quotas?: Quotas;
  readonly settings: AutoCheckpointSettings;
  readonly make: SnapshotParts["make"];
  /** Of a hidden one. */
  readonly snapshotRetired: SnapshotRetired;
  readonly startRun: TimeLineParts["startRun"];
}

/** The frozen states of a home's sandboxes: snapshots, checkpoints, and who uses which layers. */
export class HomeStates implements StartGuard, AsyncDisposable {
  readonly snapshots: HomeSnapshots;
  readonly hidden: HomeHiddenSnapshots;
  readonly #parts: TimeLineParts & Pick<HomeStatesOptions, "templates">;
  readonly #users: StateUsers;

  constructor(options: HomeStatesOptions) {
    const { home, journal, report, quotas } = options;
    const folder = (id: string): string => journal.folder(id);
    const snapshots = openSnapshotFiles(home, report);
    const checkpoints = new CheckpointFiles(folder, report);
    const lock = new WorkLock(folder, report);
    const settle = (record: SandboxRecord, signal: AbortSignal): Promise<void> => this.#settle(record, signal);
    const parts = { ...options, snapshots, checkpoints, lock };
    this.#parts = { ...parts, settle, auto: new AutoCheckpoints(parts, options.settings) };
    const withRoom = { ...parts, room: openSnapshotRoom(home, snapshots, quotas) };
    this.snapshots = new HomeSnapshots(withRoom);
    this.hidden = new HomeHiddenSnapshots(withRoom, options.snapshotRetired);
    this.#users = new StateUsers({ journal, lock, checkpoints, snapshots, states: options.live.states, templates: options.templates });
  }

  timeLine(record: SandboxRecord): OwnTimeLine {
    return new HomeTimeLine(this.#parts, record);
  }

  async finish(record: SandboxRecord, signal: AbortSignal): Promise<void> {
    const { live, lock } = this.#parts;
    if (!(await live.states.read(record)).rewind) return;
    await lock.run(record, { kind: "rollback", user: rewindUser(record) }, () => finishRewind(this.#parts, record), signal);
  }

  /** Whatever process has begun to freeze it or to put it back: that is done, or as if it had never begun. */
  async #settle(record: SandboxRecord, signal: AbortSignal): Promise<void> {
    const { live, lock, runtimes } = this.#parts;
    await this.finish(record, signal);
    const states = needStates(runtimes.need(record));
    const run = live.states.runOf(record, await live.states.read(record));
    if (await states.isSettled(run)) return;
    await lock.run(record, { kind: "freeze", user: rewindUser(record) }, () => states.settle(run), signal);
  }

  async isFree({ id }: SandboxRecord): Promise<boolean> {
    return (await this.#parts.lock.find(id)) === undefined;
  }

  /** Whether a run that has ended now was stopped for a rollback. Never rejects: without an answer it was a stop. */
  async isRolledBack({ id }: SandboxRecord): Promise<boolean> {
    const work = await this.#parts.lock.find(id).catch(() => undefined);
    return work?.kind === "rollback";
  }

  /**
   * A sandbox that begins with a state uses that as long as it lives, whatever its runtime needs of it: the state is what a merge compares
   * with. Rejects with `SANDBOX_FILES_LOST` for a state that was removed meanwhile.
   */
  async holdOrigin(record: SandboxRecord): Promise<void> {
    const layers = record.lineage?.[0]?.layers;
    if (layers) await needStates(this.#parts.runtimes.need(record)).hold(layers, originUser(record));
  }

  async letGoOfOrigin(record: SandboxRecord): Promise<void> {
    const layers = record.lineage?.[0]?.layers;
    if (layers) await this.#parts.runtimes.need(record).layers.states?.letGo(layers, originUser(record));
  }

  /** Checkpoints go with their sandbox. What cannot be let go of is swept later, for then the sandbox has ended. */
  async forget(record: SandboxRecord): Promise<void> {
    const { runtimes, checkpoints } = this.#parts;
    const states = runtimes.need(record).layers.states;
    if (!states) return;
    this.#parts.auto.forget(record);
    for (const { id, layers } of await checkpoints.list(record.id)) await states.letGo(layers, checkpointUser(record, id));
    await checkpoints.removeAll(record.id);
    await this.letGoOfOrigin(record);
  }

  /** Waits for the work behind checkpoints before calls. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.auto[Symbol.asyncDispose]();
  }

  /** Removes what dead processes have left of states. What cannot be removed is reported, and tried again by the next sweep. */
  async sweep(): Promise<void> {
    const { runtimes, snapshots, report } = this.#parts;
    try {
      for (const { layers } of runtimes.all()) await layers.states?.sweep((user) => this.#users.isUser(user));
      await snapshots.sweep();
      await this.#parts.templates?.sweep();
    } catch (cause) {
      report(`What is left of frozen states cannot be removed yet: ${String(cause)}`);
    }
  }
}
