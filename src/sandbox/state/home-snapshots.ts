import { BelljarError } from "../../errors.ts";
import { findEntry, type Records } from "../find-entry.ts";
import { findRefusal } from "../granted-sandbox.ts";
import { assertMayShowAgain, assertWorkspaceGranted } from "../grants.ts";
import { lineageFrom } from "../lineage.ts";
import { mayReach } from "../reach.ts";
import { ended } from "../refusals.ts";
import { createSandboxId, isSandboxId } from "../sandbox-id.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { shownFolder } from "../shown-folder.ts";
import type { ForkOptions, Forks, ForkSource, Principal, Sandbox, Snapshots } from "../sandbox.ts";
import { baseOf } from "../template-source.ts";
import { type SnapshotInfo, type SnapshotOptions, snapshotOptionsSchema } from "../wire/state-schemas.ts";
import type { ClaimRoom } from "./claim-room.ts";
import { type FreezeWish, type Frozen, freezeSandbox } from "./freeze-sandbox.ts";
import { parseCount } from "./inherited-options.ts";
import { tellLostFiles } from "./lost-files.ts";
import { makeAll } from "./make-all.ts";
import { parseStateOptions } from "./parse-state-options.ts";
import type { SnapshotFiles } from "./snapshot-files.ts";
import { layersOf, type SnapshotRecord, toSnapshotInfo, userOf } from "./snapshot-record.ts";
import { needStates, noSnapshot } from "./state-errors.ts";
import type { StateParts } from "./state-parts.ts";
import { tellCookies } from "./told-cookies.ts";
import { assertShowsFolder, freezeWhole, WHOLE_OPTIONS, withOwnFolder } from "./whole-state.ts";

export interface SnapshotParts extends StateParts {
  readonly records: Records;
  readonly snapshots: SnapshotFiles;
  readonly room: ClaimRoom;
  /** Makes one sandbox that begins with this state. */
  readonly make: (principal: Principal, source: SnapshotRecord, options: ForkOptions, signal: AbortSignal) => Promise<Sandbox>;
}

/** What a template takes over of a snapshot. */
export interface HeldSnapshot extends Pick<SnapshotRecord, "id" | "runtime" | "inside" | "user" | "start" | "tookIn"> {
  readonly base: string;
  readonly layers: readonly string[];
}

/** What a sandbox has become that a step of a build ran in. */
export interface FrozenStep {
  readonly layers: readonly string[];
  /** Of the files that it has written. */
  readonly bytes: number;
}

/** The snapshots of a home, from its files alone: what any process has done is seen at once. */
export class HomeSnapshots implements Snapshots {
  readonly #parts: SnapshotParts;

  constructor(parts: SnapshotParts) {
    this.#parts = parts;
  }

  async create(principal: Principal, sandbox: string, options: SnapshotOptions, signal: AbortSignal): Promise<SnapshotInfo> {
    const { snapshots, room } = this.#parts;
    const { whole, ...told } = parseSnapshotOptions(options);
    const record = await this.#findUsable(principal, sandbox);
    if (whole) assertShowsFolder(record);
    const id = createSandboxId();
    await room.claim(principal, { id, owner: record.owner, ...(told.name !== undefined && { name: told.name }) });
    const keep = async (stored: SnapshotRecord): Promise<SnapshotInfo> => {
      await snapshots.commit(stored);
      return toSnapshotInfo(stored);
    };
    const request = { record, user: userOf({ id }), durable: true, isOwn: false, signal };
    try {
      if (whole) return await this.#freezeWhole(principal, request, (frozen) => keep(withOwnFolder(toStored(id, record, frozen, told))));
      return await freezeSandbox(this.#parts, request, (frozen) => keep(toStored(id, record, frozen, told)));
    } catch (cause) {
      await snapshots.forget(id);
      throw cause;
    }
  }

  async list(principal: Principal, { sandbox }: { readonly sandbox?: string | undefined } = {}): Promise<readonly SnapshotInfo[]> {
    const found = (await this.#reachable(principal)).filter((record) => sandbox === undefined || record.sandbox === sandbox);
    return found.toSorted(newestFirst).map(toSnapshotInfo);
  }

  async info(principal: Principal, id: string): Promise<SnapshotInfo> {
    return toSnapshotInfo(await this.#find(principal, id));
  }

  async remove(principal: Principal, text: string): Promise<void> {
    const { snapshots, runtimes } = this.#parts;
    const record = await this.#find(principal, text);
    const states = needStates(runtimes.need({ id: record.sandbox, runtime: record.runtime }));
    if (!(await snapshots.retract(record.id))) throw noSnapshot(text);
    await states.letGo(layersOf(record), userOf(record));
    await snapshots.forget(record.id);
  }

  // eslint-disable-next-line max-params -- the contract's
  async fork(principal: Principal, from: ForkSource, options: ForkOptions, signal: AbortSignal): Promise<Forks> {
    const count = parseCount(options);
    const makeFrom = (source: SnapshotRecord) => makeAll(count, () => this.#parts.make(principal, source, options, signal));
    if ("snapshot" in from) {
      const source = await this.#find(principal, from.snapshot);
      assertMayShowAgain(principal, source);
      const folder = shownFolder(source);
      if (folder) assertWorkspaceGranted(folder, principal); // before anybody looks at it
      const lost = await this.tellLost(source, signal);
      const forks = await makeFrom(source);
      return Object.assign([...forks], { lost: [...lost, ...(await tellCookies(forks, signal))] });
    }
    const forks = await this.#withState(await this.#findUsable(principal, from.sandbox), signal, makeFrom);
    return Object.assign([...forks], { lost: await tellCookies(forks, signal) });
  }

  /** What is not as it was. The caller has been granted the folder that it shows. */
  tellLost(source: SnapshotRecord, signal: AbortSignal): Promise<readonly string[]> {
    const { runtime, sandbox: id } = source;
    return tellLostFiles(source, needStates(this.#parts.runtimes.need({ id, runtime })), signal);
  }

  /** The snapshot that a create names in the place of a template. Undefined if the principal has none of that id or name. */
  async findTemplate(principal: Principal, text: string): Promise<SnapshotRecord | undefined> {
    if (isSandboxId(text)) {
      const record = await this.#parts.snapshots.find(text);
      if (record && mayReach(principal, record)) return record;
    }
    return (await this.#reachable(principal)).find(({ name }) => name === text);
  }

  /**
   * The state of a snapshot for a template, which uses its layers from then on as `user`. Rejects with `SNAPSHOT_NOT_FOUND`, and with
   * `ARGUMENTS_INVALID` for a snapshot that lies on a folder of the host.
   */
  // eslint-disable-next-line max-params -- as the others
  async holdForTemplate(principal: Principal, text: string, user: string, signal: AbortSignal): Promise<HeldSnapshot> {
    const record = await this.#find(principal, text);
    if (record.workspace)
      throw new BelljarError(
        "ARGUMENTS_INVALID",
        `Snapshot ${record.id} lies on the folder ${record.workspace.path} of the host: take one with \`--whole\`, which has its files`,
      );
    assertMayShowAgain(principal, record);
    if (record.tookIn !== undefined) assertWorkspaceGranted({ path: record.tookIn, mode: "copy" }, principal);
    const layers = layersOf(record);
    const states = needStates(this.#parts.runtimes.need({ id: record.sandbox, runtime: record.runtime }));
    await states.hold(layers, user);
    await states.flushLayers(layers, signal);
    const { id, runtime, inside, user: commandsOf, tookIn } = record;
    return {
      id,
      runtime,
      base: baseOf(record),
      layers,
      inside,
      ...(commandsOf !== undefined && { user: commandsOf }),
      ...(tookIn !== undefined && { tookIn }),
    };
  }

  /**
   * What a sandbox without a folder of the host has written, on the disk. `user` uses the layers; no snapshot is made. Rejects as a
   * snapshot does.
   */
  // eslint-disable-next-line max-params -- as `holdForTemplate`
  async freezeForTemplate(principal: Principal, sandbox: string, user: string, signal: AbortSignal): Promise<FrozenStep> {
    const record = await this.#findUsable(principal, sandbox);
    return freezeSandbox(this.#parts, { record, user, durable: true, isOwn: false, signal }, async ({ layers }) => ({
      layers,
      bytes: await this.#writtenSince(record, layers, signal),
    }));
  }

  /** Of files that differ from what the sandbox began with. */
  async #writtenSince(record: SandboxRecord, layers: readonly string[], signal: AbortSignal): Promise<number> {
    const { live, runtimes } = this.#parts;
    const sandbox = { ...live.states.runOf(record, await live.states.read(record)), template: baseOf(record) };
    const from = { sandbox, layers: record.lineage?.[0]?.layers ?? [] };
    let bytes = 0;
    for await (const { after } of needStates(runtimes.need(record)).compare(from, { sandbox, layers }, signal))
      bytes += after?.type === "file" ? after.size : 0;
    return bytes;
  }

  /** Freezes a sandbox for the forks alone that `make` makes of it. Of a process that dies meanwhile the next sweep removes the state. */
  async #withState<Made>(record: SandboxRecord, signal: AbortSignal, make: (source: SnapshotRecord) => Promise<Made>): Promise<Made> {
    const { snapshots, runtimes } = this.#parts;
    const id = createSandboxId();
    const user = userOf({ id });
    await snapshots.begin({ id, owner: "" }); // nobody's snapshot: no quota counts it
    try {
      const request = { record, user, durable: false, isOwn: false, signal };
      const source = await freezeSandbox(this.#parts, request, async (frozen) => toStored(id, record, frozen, {}));
      try {
        return await make(source);
      } finally {
        await needStates(runtimes.need(record)).letGo(layersOf(source), user);
      }
    } finally {
      await snapshots.forget(id);
    }
  }

  /** The state of this moment, with what the workspace's folder holds a little later. */
  async #freezeWhole<Kept>(principal: Principal, request: FreezeWish, keep: (frozen: Frozen) => Promise<Kept>): Promise<Kept> {
    const { signal } = request;
    return this.#withState(request.record, signal, (source) => {
      const make = (from: SnapshotRecord): Promise<Sandbox> => this.#parts.make(principal, from, WHOLE_OPTIONS, signal);
      return freezeWhole(source, { make, signal }, async ({ id }) => {
        const record = await this.#findUsable(principal, id);
        const { createdAt: at, stillMs } = source;
        return freezeSandbox(this.#parts, { ...request, record }, (frozen) =>
          keep({ ...frozen, at, way: "copy", copyReason: "durable", stillMs }),
        );
      });
    });
  }

  /** Rejects as `Sandboxes.get`, and with `FORBIDDEN` for a sandbox that this token may not use. */
  async #findUsable(principal: Principal, text: string): Promise<SandboxRecord> {
    const { records, live, runtimes } = this.#parts;
    const { record, end } = await findEntry(records, principal, text);
    if (end) throw ended(record, end.reason);
    const networkState = async () => (await live.networks.read(record)).state;
    const refusal = await findRefusal({ record, networkState }, principal, runtimes);
    if (refusal) throw refusal;
    return record;
  }

  /** Rejects with `SNAPSHOT_NOT_FOUND`. */
  async #find(principal: Principal, text: string): Promise<SnapshotRecord> {
    const record = await this.findTemplate(principal, text);
    if (record) return record;
    throw noSnapshot(text);
  }

  async #reachable(principal: Principal): Promise<readonly SnapshotRecord[]> {
    return (await this.#parts.snapshots.list()).filter((record) => mayReach(principal, record));
  }
}

function parseSnapshotOptions(options: SnapshotOptions): SnapshotOptions {
  const parsed = parseStateOptions("snapshot", snapshotOptionsSchema, options);
  if (parsed.name === undefined || !isSandboxId(parsed.name)) return parsed;
  throw new BelljarError("ARGUMENTS_INVALID", `The name "${parsed.name}" looks like an id: choose another one`);
}

// eslint-disable-next-line max-params -- one for each source of the record
export function toStored(id: string, record: SandboxRecord, frozen: Frozen, told: SnapshotOptions): SnapshotRecord {
  const { owner, project, defaultName, runtime, template, workspace, inside, limits, required, timeoutMs } = record;
  const { base, user, start, metadata, env, root, nestedFilters, autoCheckpoint, tookIn, volumes } = record;
  const { way, copyReason, stillMs, at, layers, workspaceMark, baseMark } = frozen;
  const optional = {
    base,
    user,
    start,
    project,
    defaultName,
    workspace,
    workspaceMark,
    baseMark,
    tookIn,
    root,
    nestedFilters,
    autoCheckpoint,
    volumes,
  };
  return {
    version: 1,
    id,
    ...told,
    owner,
    sandbox: record.id,
    runtime,
    template,
    inside,
    limits,
    required,
    timeoutMs,
    metadata,
    env,
    ...optional,
    createdAt: at,
    way,
    copyReason,
    stillMs,
    lineage: lineageFrom({ sandbox: record.id, at, layers }, record.lineage),
  };
}

function newestFirst(one: SnapshotRecord, other: SnapshotRecord): number {
  return other.createdAt.getTime() - one.createdAt.getTime() || (one.id < other.id ? -1 : 1);
}
