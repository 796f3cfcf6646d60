import { join } from "node:path";
import { mapLimit } from "../../../async/map-limit.ts";
import { BelljarError } from "../../../errors.ts";
import { createGuest } from "../../guest/create-guest.ts";
import type { RecordedRun, Run } from "../../contract/run.ts";
import type { Base } from "../../contract/sandbox-spec.ts";
import type {
  FreezeRequest,
  FrozenState,
  StateChange,
  StateReading,
  StateStore,
  StateView,
  UnpackedLayer,
  UnpackRequest,
} from "../../contract/state-store.ts";
import { DEFAULT_BASE } from "../../contract/sandbox-spec.ts";
import type { JailPaths } from "../jail-spec.ts";
import { makeRunFolder } from "../run-paths.ts";
import type { NamespaceSandbox } from "../running-sandbox.ts";
import { NO_SANDBOX, treeOf } from "../shared-folders.ts";
import type { StorageKind } from "../storage.ts";
import { removeStrays } from "./stray-subvolumes.ts";
import { markHost } from "../template/host-mark.ts";
import type { Template } from "../template/template.ts";
import { LayerFlusher } from "./layer-flusher.ts";
import { type LayerFacts, LayerFolders, userOf } from "./layer-folders.ts";
import { type LayerJob, LayerJobs } from "./layer-jobs.ts";
import { MergedLayers } from "./merged-layers.ts";
import { RaisedLayers, STACK_FULL } from "./raised-layers.ts";
import { SeenStates } from "./seen-states.ts";
import { readStack, removeStack, type Stack, writeStack } from "./stack-file.ts";
import { notUnpacked } from "./unpack-archive.ts";
import { UnpackedLayers } from "./unpacked-layers.ts";

const PARALLEL = 8;
/** A mount of so many layers takes no longer than one of few. */
const STACK_HIGH = 16;
/** The guest lets everything go on after two minutes. */
const STILL_MS = 110_000;
/** Between the first step of a freeze and the moment at which whoever asked for it has written down its user. Much less is enough. */
const YOUNG_MS = 600_000;

export interface NamespaceStatesOptions {
  readonly home: string;
  /** Where the home's pool is mounted, if it has one. */
  readonly pool: string;
  readonly binary: string;
  /** Of the machine. */
  readonly boot: string;
  readonly place: (run: Run) => JailPaths;
  readonly open: (run: RecordedRun) => NamespaceSandbox;
  readonly template: (base: Base) => Promise<Template>;
  /** As `Storage.reach`. */
  readonly reach: (kind: StorageKind) => Promise<boolean>;
}

/** What a run is built on. */
export interface RunBase {
  /** The topmost first. */
  readonly below: readonly LayerFacts[];
  /** The subvolume that its writable layers begin with. */
  readonly seed?: string;
}

/** Frozen layers of namespace sandboxes: on btrfs snapshots of their subvolumes, elsewhere copies of what they wrote. */
export class NamespaceStates implements StateStore {
  readonly #options: NamespaceStatesOptions;
  readonly #jobs: LayerJobs;
  readonly folders: LayerFolders;
  readonly #merged: MergedLayers;
  readonly #raised: RaisedLayers;
  readonly #seen: SeenStates;
  readonly #flusher: LayerFlusher;
  readonly #unpacked: UnpackedLayers;

  constructor(options: NamespaceStatesOptions) {
    this.#options = options;
    this.#jobs = new LayerJobs(options.binary);
    this.folders = new LayerFolders(options.home, options.pool);
    this.#flusher = new LayerFlusher({ boot: options.boot, jobs: this.#jobs, folders: this.folders });
    const letGoSoon = (layers: readonly string[], user: string): Promise<void> => this.#letGoSoon(layers, user);
    const parts = { ...options, jobs: this.#jobs, flusher: this.#flusher, folders: this.folders, letGoSoon };
    this.#merged = new MergedLayers(parts);
    this.#raised = new RaisedLayers({ ...parts, merged: this.#merged });
    this.#unpacked = new UnpackedLayers({ ...parts, place: (id) => this.#nowhere(id, "home") });
    this.#seen = new SeenStates({
      ...options,
      reach: (storage) => this.#reach([storage]),
      folders: this.folders,
      facts: (layers) => this.#facts(layers),
      nowhere: (layer) => this.#nowhere(layer, "home"),
    });
  }

  async freeze(request: FreezeRequest, signal: AbortSignal): Promise<FrozenState> {
    const { run, user } = request;
    if (signal.aborted) throw notFrozen(signal);
    const { below } = request.isRunning ? await this.#raised.settle(run) : await this.#settled(run);
    const isClone = this.way(run) === "clone";
    await this.#reach([this.#options.place(run).storage]);
    const reason = !request.isRunning ? "stopped" : request.isOwn && !request.durable ? undefined : "durable";
    const layer = await this.folders.begin(isClone ? "btrfs" : "home", user);
    try {
      if (isClone) return { ...(await this.#copy(layer, below, request, signal)), way: "clone" };
      const stillMs = reason ?? (await this.#raised.raise(run, layer.id, signal));
      if (typeof stillMs === "string") return { ...(await this.#copy(layer, below, request, signal)), way: "copy", copyReason: stillMs };
      const { below: layers } = await readStack(run);
      await this.hold(layers, user); // the sandbox uses them too
      // What cannot be begun is begun after a later one.
      await this.#merged.raised(run).catch(() => undefined);
      return { layers, way: "clone", stillMs };
    } catch (cause) {
      // What cannot be removed now is removed by a sweep. The reason of the failure is told.
      await this.letGo([layer.id, ...below], user).catch(() => undefined);
      throw cause;
    }
  }

  /** One more layer, or one in the place of several. */
  async #copy(
    layer: Pick<LayerFacts, "id" | "kind">,
    below: readonly string[],
    request: FreezeRequest,
    signal: AbortSignal,
  ): Promise<Omit<FrozenState, "way">> {
    const merged = layer.kind === "btrfs" ? [] : mergedOf(await this.#facts(below), request);
    const layers = [layer.id, ...below.slice(merged.length)];
    await this.hold(layers.slice(1), request.user);
    const { overlays, stillMs } = await this.#make(layer, merged, request, signal);
    const isClone = layer.kind === "btrfs";
    const place = this.#options.place(request.run);
    await this.folders.finish({ ...layer, overlays, ...(!isClone && { boot: this.#options.boot }) });
    if (request.durable) await this.#flusher.frozen(place, layers, signal);
    else if (!isClone) this.#flusher.soon(place);
    return { layers, stillMs };
  }

  async unpack(request: UnpackRequest, signal: AbortSignal): Promise<UnpackedLayer> {
    if (signal.aborted) throw notUnpacked(signal);
    return this.#fill(request.user, (layer) => this.#unpacked.make(layer, request, signal));
  }

  async merge(layers: readonly string[], user: string, signal: AbortSignal): Promise<string> {
    if (signal.aborted) throw notUnpacked(signal);
    return this.#fill(user, async (layer) => {
      await this.#unpacked.merge(layer, layers, signal);
      return layer.id;
    });
  }

  async #fill<T>(user: string, fill: (layer: Pick<LayerFacts, "id" | "kind">) => Promise<T>): Promise<T> {
    const layer = await this.folders.begin("home", user);
    try {
      return await fill(layer);
    } catch (cause) {
      // As of a freeze.
      await this.letGo([layer.id], user).catch(() => undefined);
      throw cause;
    }
  }

  way(run: Run): FrozenState["way"] {
    return this.#options.place(run).storage === "btrfs" ? "clone" : "copy";
  }

  async #make(
    layer: Pick<LayerFacts, "id" | "kind">,
    merged: readonly LayerFacts[],
    { run, isRunning }: FreezeRequest,
    signal: AbortSignal,
  ): Promise<{ readonly overlays: readonly string[]; readonly stillMs: number }> {
    const job: LayerJob = {
      kind: layer.kind === "btrfs" ? "clone" : "copy",
      place: this.#options.place(run),
      layer: this.#paths(layer),
      below: merged.map((one) => this.folders.filesOf(one)),
      isStopped: !isRunning,
    };
    const freeze = (bound: AbortSignal): Promise<readonly string[]> => this.#jobs.run(job, bound);
    if (!isRunning) makeRunFolder(run);
    if (!isRunning || job.kind === "clone") return { overlays: await freeze(signal), stillMs: 0 };
    return this.#whileStill(run, freeze, signal);
  }

  /**
   * A sandbox that is paused stands still already. If it is woken meanwhile, the copy may be of several moments. One that sleeps any call
   * may wake, so it is woken before.
   */
  async #whileStill(run: RecordedRun, freeze: (bound: AbortSignal) => Promise<readonly string[]>, signal: AbortSignal) {
    const running = this.#options.open(run);
    try {
      const { phase, pauseReason } = await running.usage();
      if (pauseReason === "idle") await running.resume();
      else if (phase === "paused") {
        const overlays = await freeze(signal);
        if ((await running.usage()).phase === "paused") return { overlays, stillMs: 0 };
        throw new BelljarError("RUNTIME_UNAVAILABLE", `Sandbox ${run.id} was woken while it was frozen: try again`);
      }
      await using still = await createGuest((one) => running.connect(one), { ended: running.ended }).still(signal);
      const late = AbortSignal.timeout(STILL_MS);
      const overlays = await freeze(AbortSignal.any([signal, late])).catch((cause: unknown) => {
        throw late.aborted && !signal.aborted ? tooMuch(run) : cause;
      });
      return { overlays, stillMs: await still.end() };
    } finally {
      await running.release();
    }
  }

  async flushLayers(layers: readonly string[], signal: AbortSignal): Promise<void> {
    const [first] = layers;
    if (first !== undefined) await this.#flusher.frozen(this.#nowhere(first, "home"), layers, signal);
  }

  /** Files in memory cannot be flushed. */
  async flush(run: Run): Promise<void> {
    const place = this.#options.place(run);
    if (place.storage !== "tmpfs" && (await this.#options.reach(place.storage))) await this.#flusher.stopped(place, run);
  }

  markBase(template: string): string | undefined {
    return template === DEFAULT_BASE.template ? markHost() : undefined;
  }

  async has(layers: readonly string[]): Promise<boolean> {
    await this.#reachLayers(layers);
    return this.#flusher.areWhole(layers);
  }

  async isSettled(run: Run): Promise<boolean> {
    return (await readStack(run)).raises === undefined;
  }

  async settle(run: Run): Promise<void> {
    await this.#raised.settle(run);
  }

  async hold(layers: readonly string[], user: string): Promise<void> {
    await mapLimit(layers, PARALLEL, (id) => this.folders.addUser(id, user));
  }

  async letGo(layers: readonly string[], user: string): Promise<void> {
    await mapLimit(layers, PARALLEL, async (id) => {
      if (await this.folders.removeUser(id, user)) await this.#remove(id);
    });
  }

  /** The same, but the files of layers that nobody uses any more are removed in the background. */
  async #letGoSoon(layers: readonly string[], user: string): Promise<void> {
    const unused = await mapLimit(layers, PARALLEL, async (id) => ((await this.folders.removeUser(id, user)) ? [id] : []));
    // What cannot be removed now is removed by a sweep.
    for (const id of unused.flat()) void this.#remove(id).catch(() => undefined);
  }

  /** Several processes may remove one layer: then one of them does, and the others need not wait. */
  async #remove(id: string): Promise<void> {
    const left = await this.folders.left(id, () => this.#options.reach("btrfs"));
    const storage = storageOf(left.kind);
    await this.#reach([storage]);
    const place = this.#nowhere(left.sandbox ?? id, storage);
    try {
      await this.#jobs.run({ kind: "remove", place, layer: this.#paths(left) });
    } catch (cause) {
      const code = cause instanceof BelljarError ? cause.code : undefined;
      const hasGone = left.kind === "held" && code === "SANDBOX_FILES_LOST"; // with its sandbox, or its holder
      if (!hasGone && (code === "RUNTIME_UNAVAILABLE" || code === "SANDBOX_FILES_LOST")) return;
      if (!hasGone) throw cause;
    }
    await this.folders.forget(id);
  }

  /** What sandboxes shared is removed as a layer is: with sub-ids nobody else may do it. The job opens every folder by a name, and follows no link. */
  async removeShared(folder: string): Promise<void> {
    const place = { ...this.#options.place({ id: NO_SANDBOX, generation: 1, folder }), storage: "home" } as const;
    await this.#jobs.run({ kind: "remove", place, layer: { folder, files: treeOf(folder) } });
  }

  async rewind(run: Run, layers: readonly string[]): Promise<void> {
    await this.#assertWhole(layers);
    const before = await this.#settled(run);
    await this.#merged.drop(run);
    await this.hold(layers, userOf(run));
    await writeStack(run, { ...before, rewindsTo: layers });
    await this.#settled(run);
  }

  /** Finishes a rewind that has begun. Doing it again does no harm, so it may be interrupted anywhere. */
  async #settled(run: Run): Promise<Stack> {
    const { below, rewindsTo } = await this.#raised.settle(run);
    if (!rewindsTo) return { below };
    await this.#assertWhole(rewindsTo);
    const place = this.#options.place(run);
    await this.#reach([place.storage]);
    const base = await this.#split(rewindsTo, place.storage);
    makeRunFolder(run);
    if (base.top) await this.#jobs.run({ kind: "seed", place, layer: this.#paths(base.top) });
    else await this.#jobs.run({ kind: "empty", place });
    await writeStack(run, { below: base.below.map(({ id }) => id) });
    await this.letGo(
      [...below, ...rewindsTo].filter((id) => !base.below.some((one) => one.id === id)),
      userOf(run),
    );
    return { below: base.below.map(({ id }) => id) };
  }

  /** What the first run of a sandbox on these layers is built on. It becomes their user. */
  async begin(run: Run, layers: readonly string[], storage: StorageKind): Promise<RunBase> {
    await this.hold(layers, userOf(run));
    const { top, below } = await this.#split(layers, storage);
    await writeStack(run, { below: below.map(({ id }) => id), ...(top && { origin: top.id }) });
    return { below, ...(top && { seed: this.folders.files(top) }) };
  }

  /** Once the first run has what it needs of a subvolume that it began with. */
  async begun(run: Run): Promise<void> {
    const { origin, ...stack } = await readStack(run);
    if (origin === undefined) return;
    await writeStack(run, stack);
    await this.letGo([origin], userOf(run));
  }

  /** What a later run is built on. */
  async resume(run: Run): Promise<RunBase> {
    await this.begun(run); // its first run may have come up without the process that started it
    const { below } = await this.#settled(run);
    return { below: await this.#facts(below) };
  }

  /** The sandbox and all that it wrote are gone. A sweep lets go of what a damaged stack does not name. */
  async forget(run: Run): Promise<void> {
    await this.#merged.end(run);
    const stack = await readStack(run).catch((): Stack => ({ below: [] }));
    const { below, origin = [], rewindsTo = [], raises = [], merges, past = [] } = stack;
    await removeStack(run);
    await this.letGo([...below, ...[origin, raises, merges?.layer ?? []].flat(), ...rewindsTo, ...past], userOf(run));
  }

  /**
   * A state lies below the writable layers, which costs nothing, however large it is. On the pool, a high stack does not grow: its topmost layer
   * becomes the sandbox's own by a snapshot, which takes some milliseconds more.
   */
  async #split(
    layers: readonly string[],
    storage: StorageKind,
  ): Promise<{ readonly top?: LayerFacts; readonly below: readonly LayerFacts[] }> {
    const facts = await this.#facts(layers);
    const [top, ...below] = facts;
    return storage === "btrfs" && top?.kind === "btrfs" && layers.length > STACK_HIGH ? { top, below } : { below: facts };
  }

  async #facts(layers: readonly string[]): Promise<readonly LayerFacts[]> {
    const facts = await mapLimit(layers, PARALLEL, (id) => this.folders.facts(id));
    await this.#reach([...new Set(facts.map(({ kind }) => storageOf(kind)))]);
    return facts;
  }

  /** Rejects with `SANDBOX_FILES_LOST`. */
  async #assertWhole(layers: readonly string[]): Promise<void> {
    await this.#reachLayers(layers);
    await this.#flusher.assertWhole(layers);
  }

  /** The pool must be mounted before anybody says that a layer in it is gone. */
  async #reachLayers(layers: readonly string[]): Promise<void> {
    const facts = await mapLimit(layers, PARALLEL, (id) => this.folders.find(id));
    await this.#reach([...new Set(facts.flatMap((one) => (one ? [storageOf(one.kind)] : [])))]);
  }

  async #reach(kinds: readonly StorageKind[]): Promise<void> {
    for (const kind of kinds)
      if (!(await this.#options.reach(kind)))
        throw new BelljarError("RUNTIME_UNAVAILABLE", "The storage pool with what was written is gone: bring back its image");
  }

  /** One layer that cannot be looked after keeps no other one from it. */
  async sweep(isUser: (user: string) => Promise<boolean>): Promise<void> {
    const before = Date.now() - YOUNG_MS;
    await this.folders.removeUnfinished(before);
    await this.folders.adoptStrays();
    const { pool } = this.#options;
    const place = (id: string): JailPaths => this.#nowhere(id, "btrfs");
    const works = [
      () => removeStrays({ jobs: this.#jobs, pool, place }, (id) => isUser(`sandbox-${id}`)),
      ...(await this.folders.ids()).map((id) => () => this.#sweepOne(id, { isUser, before })),
    ];
    const failures = await mapLimit(works, PARALLEL, (work) =>
      work().then(
        () => [],
        (cause: unknown) => [cause],
      ),
    );
    const [first] = failures.flat();
    if (first !== undefined) throw first;
  }

  async #sweepOne(
    id: string,
    { isUser, before }: { readonly isUser: (user: string) => Promise<boolean>; readonly before: number },
  ): Promise<void> {
    const [users, changedAt] = [await this.folders.users(id), await this.folders.changedAt(id)];
    if (!users || !changedAt) return this.#remove(id);
    if (changedAt.getTime() > before) return;
    const gone = (await mapLimit(users, PARALLEL, async (user) => ((await isUser(user)) ? [] : [user]))).flat();
    for (const user of gone) await this.letGo([id], user);
    if (users.length === 0 && (await this.folders.retire(id))) await this.#remove(id);
  }

  compare(from: StateView, to: StateView, signal: AbortSignal): AsyncIterable<StateChange> {
    return this.#seen.compare(from, to, signal);
  }

  measure(layers: readonly string[], template: string, reading: StateReading): Promise<number> {
    return this.#seen.measure(layers, template, reading);
  }

  read(view: StateView, path: Buffer, reading: StateReading): AsyncIterable<Buffer> {
    return this.#seen.read(view, path, reading);
  }

  #paths(layer: Pick<LayerFacts, "id" | "kind">): NonNullable<LayerJob["layer"]> {
    return { folder: this.folders.folder(layer.id), files: this.folders.files(layer) };
  }

  /** A job that removes a layer works on no sandbox: of its layers it is only said whether they are in the pool. */
  #nowhere(id: string, storage: StorageKind): JailPaths {
    const folder = this.folders.folder(id);
    const layers = join(storage === "btrfs" ? this.#options.pool : folder, id);
    return { ...this.#options.place({ id, generation: 1, folder }), storage, layers };
  }
}

function tooMuch({ id }: Run): BelljarError {
  return new BelljarError(
    "RUNTIME_FAILED",
    `Sandbox ${id} has written more than can be copied while it stands still, which is two minutes: stop it, and try again`,
  );
}

/**
 * The layers, topmost first, that a copy takes in: all of a high stack, and for other sandboxes those that lie with the sandbox's own files
 * and what is above them.
 */
function mergedOf(below: readonly LayerFacts[], { isOwn }: FreezeRequest): readonly LayerFacts[] {
  if (below.length >= STACK_FULL) return below;
  return isOwn ? [] : below.slice(0, below.findLastIndex(({ kind }) => kind === "held") + 1);
}

function storageOf(kind: LayerFacts["kind"]): StorageKind {
  return kind === "held" ? "tmpfs" : kind;
}

function notFrozen(signal: AbortSignal): BelljarError {
  return new BelljarError("CANCELLED", "The state was not frozen: its caller cancelled", { cause: signal.reason });
}
