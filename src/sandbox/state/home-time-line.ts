import { mapLimit } from "../../async/map-limit.ts";
import { BelljarError } from "../../errors.ts";
import type { StateStore, StateView } from "../../runtime/contract/state-store.ts";
import { sharedState } from "../lineage.ts";
import type { LocalSandbox } from "../local-sandbox.ts";
import type { OwnRollback, OwnTimeLine } from "../own-sandbox.ts";
import { ended, stopped, unknown } from "../refusals.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { Principal, Sandbox } from "../sandbox.ts";
import { baseOf } from "../template-source.ts";
import {
  type ChangedPaths,
  type Checkpoint,
  type CheckpointOptions,
  checkpointOptionsSchema,
  type ComparedPoints,
  comparedPointsSchema,
  type PointDiff,
  type TimeLineInfo,
} from "../wire/state-schemas.ts";
import type { AutoCheckpoints } from "./auto-checkpoints.ts";
import type { Comparison } from "./comparison.ts";
import { linkTimeLine } from "./link-time-line.ts";
import { parseStateOptions } from "./parse-state-options.ts";
import { type Point, rollback, type StartRun } from "./rollback.ts";
import type { SnapshotFiles } from "./snapshot-files.ts";
import { layersOf } from "./snapshot-record.ts";
import { needStates, noCheckpoint } from "./state-errors.ts";
import type { StateParts } from "./state-parts.ts";
import { removeCheckpoint, takeCheckpoint } from "./take-checkpoint.ts";

const PARALLEL = 16;

export interface TimeLineParts extends StateParts {
  readonly snapshots: SnapshotFiles;
  readonly comparison: Comparison;
  readonly auto: AutoCheckpoints;
  readonly startRun: StartRun;
  /** Puts the sandbox back where a process died that was doing so. */
  readonly settle: (record: SandboxRecord, signal: AbortSignal) => Promise<void>;
}

/** The time line of a sandbox of this home, from its files alone. */
export class HomeTimeLine implements OwnTimeLine {
  readonly #parts: TimeLineParts;
  readonly #record: SandboxRecord;

  constructor(parts: TimeLineParts, record: SandboxRecord) {
    this.#parts = parts;
    this.#record = record;
  }

  async list(): Promise<TimeLineInfo> {
    const { checkpoints, auto } = this.#parts;
    const { id, states } = this.#states();
    const [stored, head] = await Promise.all([checkpoints.list(id), checkpoints.head(id)]);
    const all = auto.lasting(stored);
    const areWhole = await mapLimit(all, PARALLEL, ({ layers }) => states.has(layers));
    return linkTimeLine(
      all.filter((_, index) => areWhole[index]),
      head,
    );
  }

  async checkpoint(options: CheckpointOptions, signal: AbortSignal): Promise<Checkpoint> {
    const { label } = parseStateOptions("checkpoint", checkpointOptionsSchema, options);
    return takeCheckpoint(this.#parts, { record: this.#record, more: { ...(label !== undefined && { label }) }, signal });
  }

  beforeCall(tool: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#parts.auto.before(this.#record, tool, signal);
  }

  async rollback(point: string, signal: AbortSignal, principal?: Principal): Promise<OwnRollback> {
    this.#states();
    const found = await this.#find(point);
    return rollback(this.#parts, { record: this.#record, point: found, signal, ...(principal && { principal }) });
  }

  async remove(checkpoint: string): Promise<void> {
    this.#states();
    if (!(await removeCheckpoint(this.#parts, this.#record, checkpoint))) throw noCheckpoint(checkpoint, this.#record);
  }

  async diff(points: ComparedPoints, signal: AbortSignal): Promise<PointDiff> {
    const { from, to, paths } = parseStateOptions("diff", comparedPointsSchema, points);
    const { states } = this.#states();
    const [before, after] = [await this.#view(from), to === undefined ? await this.#now(signal) : await this.#view(to)];
    return this.#parts.comparison.diff({ states, from: before, to: after, paths, signal });
  }

  async undo(to: string, paths: readonly string[], signal: AbortSignal): Promise<ChangedPaths> {
    const { states } = this.#states();
    const view = await this.#view(to);
    const { guest } = await this.#running();
    return this.#parts.comparison.undo({ states, to: view, now: await this.#now(signal), guest, paths, signal });
  }

  async merge(from: Sandbox, paths: readonly string[] | undefined, signal: AbortSignal): Promise<ChangedPaths> {
    const { states } = this.#states();
    await from.timeLine.list(); // rejects for a sandbox that the caller may not use
    const theirs = await this.#recordOf(from.id);
    const layers = sharedState(this.#record, theirs);
    if (!layers || theirs.runtime !== this.#record.runtime || baseOf(theirs) !== baseOf(this.#record))
      throw unrelated(this.#record, theirs);
    if (this.#record.workspace?.path !== theirs.workspace?.path) throw otherFolder(this.#record, theirs);
    const { guest } = await this.#running();
    const ours = await this.#now(signal);
    const request = { states, base: { ...ours, layers }, ours, theirs: await this.#now(signal, theirs), guest, paths, signal };
    return this.#parts.comparison.merge(request);
  }

  /** Throws `NOT_SUPPORTED` if nothing freezes this sandbox. */
  #states(): { readonly id: string; readonly states: StateStore } {
    return { id: this.#record.id, states: needStates(this.#parts.runtimes.need(this.#record)) };
  }

  /** Rejects with `CHECKPOINT_NOT_FOUND`. */
  async #find(point: string): Promise<Point> {
    const checkpoint = await this.#parts.checkpoints.find(this.#record.id, point);
    if (checkpoint && (await this.#states().states.has(checkpoint.layers))) return checkpoint;
    const snapshot = await this.#parts.snapshots.find(point);
    const isOwn = snapshot?.sandbox === this.#record.id && snapshot.owner === this.#record.owner;
    if (snapshot && isOwn) return { ...snapshot, layers: layersOf(snapshot) };
    throw noCheckpoint(point, this.#record);
  }

  async #view(point: string): Promise<StateView> {
    const { layers } = await this.#find(point);
    return { ...(await this.#viewOf(this.#record)), layers };
  }

  async #now(signal: AbortSignal, record = this.#record): Promise<StateView> {
    await this.#parts.settle(record, signal);
    return this.#viewOf(record);
  }

  async #viewOf(record: SandboxRecord): Promise<StateView> {
    const { states } = this.#parts.live;
    const { workspace, volumes = [] } = record;
    const mounts = volumes.map(({ path }) => ({ at: path }));
    const run = states.runOf(record, await states.read(record));
    return { sandbox: { ...run, template: baseOf(record), ...(workspace && { workspace }), mounts } };
  }

  async #running(): Promise<LocalSandbox> {
    const sandbox = await this.#parts.live.open(this.#record);
    if (sandbox) return sandbox;
    throw stopped(this.#record);
  }

  async #recordOf(id: string): Promise<SandboxRecord> {
    const entry = await this.#parts.journal.read(id);
    if (!entry) throw unknown(id);
    if (entry.end) throw ended(entry.record, entry.end.reason);
    return entry.record;
  }
}

function unrelated(one: SandboxRecord, other: SandboxRecord): BelljarError {
  return new BelljarError(
    "ARGUMENTS_INVALID",
    `Sandboxes ${one.id} and ${other.id} never had the same files: merge a fork into the sandbox that it was forked from, or into a sister`,
  );
}

function otherFolder(one: SandboxRecord, other: SandboxRecord): BelljarError {
  return new BelljarError(
    "ARGUMENTS_INVALID",
    `One of the sandboxes ${one.id} and ${other.id} shows a folder of the host, and the other one has the files of a whole snapshot as its own: take them over with \`belljar cp\``,
  );
}
