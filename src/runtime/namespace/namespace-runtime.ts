import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { LayerStore, LayersSize } from "../contract/layer-store.ts";
import type { EndReason, Inside, RecordedRun, Run, RunningSandbox, SandboxEnd } from "../contract/run.ts";
import type { Isolation, RunLook, Runtime, StoragePool } from "../contract/runtime.ts";
import type { Base, Limits, SandboxSpec } from "../contract/sandbox-spec.ts";
import type { SharedFolders } from "../contract/shared-folders.ts";
import { assertMounts } from "../guest/mounts.ts";
import { DEFAULT_BASE } from "../contract/sandbox-spec.ts";
import { poolOf } from "./btrfs-pool.ts";
import { findCgroups } from "./cgroups.ts";
import { findIdMap, ID_MAP_KIND } from "./id-map.ts";
import type { NamespaceHost, NamespaceRuntimeOptions } from "./namespace-host.ts";
import { probeIsolation } from "./isolation.ts";
import { clearFolder } from "./clear-folder.ts";
import { type ClearRequest, encodeClearSpec, encodeJailSpec, type JailPaths } from "./jail-spec.ts";
import { claimRunFolder, makeRunFolder, noteStorage, notedStorage, readEnd, runFolder, runName, unwrittenEnd } from "./run-paths.ts";
import { lookAtRuns } from "./look-at-runs.ts";
import { measureLayers } from "./measure-layers.ts";
import { namespaceSharedFolders, NO_SANDBOX, treeOf } from "./shared-folders.ts";
import { NamespaceSandbox } from "./running-sandbox.ts";
import { Spawner } from "./spawner.ts";
import { NamespaceStates, type RunBase } from "./states/namespace-states.ts";
import { openStorage, parseKind, type StorageKind } from "./storage.ts";
import type { Template } from "./template/template.ts";
import { Templates } from "./template/templates.ts";

/** Slots are ids of the whole machine, so all homes share one folder. */
const SLOTS = "/run/belljar/slots";

/** Sandboxes of namespaces, overlays, control groups and a system call filter on this host's kernel. As root and as an ordinary user. */
export async function openNamespaceRuntime(options: NamespaceRuntimeOptions): Promise<Runtime> {
  if (process.platform !== "linux") {
    throw new BelljarError(
      "RUNTIME_UNAVAILABLE",
      "Namespace sandboxes need Linux. On macOS run Belljar in a Linux virtual machine and point BELLJAR_URL at it",
    );
  }
  return new NamespaceRuntime(await inspectHost(options));
}

async function inspectHost(options: NamespaceRuntimeOptions): Promise<NamespaceHost> {
  const idMap = findIdMap(options.idMap);
  const isRoot = idMap.kind === "slot";
  const cgroups = findCgroups();
  const storage = await openStorage(options, isRoot);
  mkdirSync(options.runtimeDirectory, { recursive: true, mode: 0o700 });
  if (isRoot) mkdirSync(SLOTS, { recursive: true, mode: 0o700 });
  /* rlimits count open files and processes everywhere; control groups and storage add theirs. */
  const disk = storage.kind === "home" ? [] : (["diskBytes"] as const);
  const limits = [...new Set([...cgroups.limits, "pids" as const, "openFiles" as const, ...disk])];
  return { options, idMap, cgroups, storage, limits, bootId: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim() };
}

const NEVER = new AbortController().signal;

/** Nobody saw the run's end, or wrote it down. */
const UNKNOWN_ENDS: readonly EndReason[] = ["keeper_lost", "host_lost"];

const TEMPLATES = [
  {
    name: DEFAULT_BASE.template,
    description: "The default: the host's own programs under a root of its own, with nothing of the host's data",
  },
];

class NamespaceRuntime implements Runtime {
  readonly name = "namespace";
  readonly layers: LayerStore;
  readonly storagePool: StoragePool;
  readonly shared: SharedFolders;
  readonly #host: NamespaceHost;
  readonly #states: NamespaceStates;
  readonly #spawner: Spawner;
  readonly #templates: Templates;
  #isolation: Promise<Isolation> | undefined;

  constructor(host: NamespaceHost) {
    this.#host = host;
    this.storagePool = host.storage.pool;
    this.#templates = new Templates(host);
    const { home, binary } = host.options;
    this.#states = new NamespaceStates({
      home,
      pool: poolOf(home),
      binary,
      boot: host.bootId,
      place: (run) => this.#place(run),
      open: (run) => this.#running(run, { isUp: false }),
      template: (base) => this.#templates.need(base),
      reach: (kind) => host.storage.reach(kind),
    });
    this.layers = {
      templates: async () => TEMPLATES,
      describe: (base) => this.#describe(base),
      remove: (lastRun) => this.#remove(lastRun),
      has: (lastRun) => this.#has(lastRun),
      measure: (lastRun, signal) => this.#measure(lastRun, signal),
      flush: (lastRun) => this.#states.flush(lastRun),
      states: this.#states,
    };
    this.shared = namespaceSharedFolders(host.idMap, {
      remove: (folder) => this.#states.removeShared(folder),
      measure: (folder) => this.#measureShared(folder),
    });
    this.#spawner = new Spawner(host.options.binary);
  }

  probe(): Promise<Isolation> {
    return (this.#isolation ??= probeIsolation(this.#host, this));
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<RunningSandbox> {
    this.#needAction(spec);
    assertMounts(spec);
    const storage = await this.#storageOf(spec);
    this.#needLimits(spec, storage);
    if (signal.aborted) throw cancelled(signal);
    const template = await this.#templates.need(spec.base);
    claimRunFolder(spec);
    if (spec.generation === 1) this.#noteStorage(spec, storage);
    else await this.#prepareAgain(spec);
    const base = await this.#baseOf(spec);
    await this.#start(spec, this.#request(spec, { template, base }));
    if (base.seed !== undefined) await this.#states.begun(spec);
    const sandbox = this.#running(spec, { isUp: true });
    if (!signal.aborted) return sandbox;
    await (spec.generation === 1 ? sandbox.kill("killed") : sandbox.stop());
    throw cancelled(signal);
  }

  #request(spec: SandboxSpec, { template, base }: { readonly template: Template; readonly base: RunBase }): Buffer {
    const { cgroups, bootId } = this.#host;
    return encodeJailSpec({
      place: this.#place(spec),
      spec,
      template,
      base: { seed: base.seed, below: base.below.map((layer) => this.#states.folders.filesOf(layer)) },
      cgroups: cgroups.bases,
      groupLimits: cgroups.limits,
      bootId,
      ...(spec.workspace && { workspaceOwner: statSync(spec.workspace.path) }),
    });
  }

  async #start(spec: SandboxSpec, request: Buffer): Promise<void> {
    try {
      await this.#spawner.start(spec, request);
    } catch (cause) {
      const isLate = cause instanceof BelljarError && cause.code === "SANDBOX_UNRESPONSIVE";
      const isFirst = spec.generation === 1;
      // What cannot be cleared now is cleared by whoever asks for the run's end, or swept. The reason of the failed start is told.
      await this.#clear(spec, { keeper: isLate ? "silent" : "gone", removesLayers: isFirst }).catch(() => undefined);
      if (isFirst) await this.#states.forget(spec).catch(() => undefined);
      throw cause;
    }
  }

  /** Most sandboxes start from the template alone, and have no file that says so. */
  async #baseOf(spec: SandboxSpec): Promise<RunBase> {
    if (spec.generation > 1) return this.#states.resume(spec);
    const { layers = [] } = spec.base;
    return layers.length === 0 ? { below: [] } : this.#states.begin(spec, layers, this.#place(spec).storage);
  }

  async open(run: RecordedRun): Promise<RunningSandbox | undefined> {
    const sandbox = this.#running(run, { isUp: false });
    try {
      await sandbox.usage();
      return sandbox;
    } catch (cause) {
      // What does not answer lives: it can be looked at, and killed.
      if (cause instanceof BelljarError && cause.code === "SANDBOX_UNRESPONSIVE") return sandbox;
      await sandbox.release();
      return undefined;
    }
  }

  look(runs: readonly RecordedRun[]): Promise<readonly (RunLook | undefined)[]> {
    const folders = runs.map((run) => this.#sockets(run));
    return lookAtRuns(this.#host.options.binary, folders);
  }

  /** The end is written when the groups are gone, and the sockets go last. What could not be removed has left them. */
  async clear(run: Run): Promise<SandboxEnd | undefined> {
    const end = await readEnd(run);
    if (end && !existsSync(this.#sockets(run))) return end;
    return this.#clear(run, { keeper: "unknown", removesLayers: false });
  }

  async #remove(lastRun: Run): Promise<void> {
    const { storage, layers } = this.#place(lastRun);
    const mayExist = storage === "tmpfs" ? await this.#mayBeHeld(lastRun) : (await this.#host.storage.reach(storage)) && existsSync(layers);
    const isRemoved = !mayExist || (await this.#clear(lastRun, { keeper: "unknown", removesLayers: true })) !== undefined;
    if (!(isRemoved && (await this.#clearRuns(lastRun, lastRun.generation))))
      throw new BelljarError("RUNTIME_FAILED", `Sandbox ${lastRun.id} lives: what it wrote is removed after its end`);
    await this.#states.forget(lastRun);
  }

  /** Of layers in memory the holder is asked: there is nothing to count. */
  async #has(lastRun: Run): Promise<boolean> {
    const { storage, layers } = this.#place(lastRun);
    if (storage === "tmpfs") return (await this.#measure(lastRun, NEVER)) !== undefined;
    return (await this.#host.storage.reach(storage)) && existsSync(layers);
  }

  async #measure(lastRun: Run, signal: AbortSignal): Promise<LayersSize | undefined> {
    const place = this.#place(lastRun);
    const other = this.#otherHolder(lastRun);
    if (other !== undefined)
      throw new BelljarError("RUNTIME_UNAVAILABLE", `The files of sandbox ${lastRun.id} are held by another process, at ${other}`);
    if (!(await this.#host.storage.reach(place.storage))) return undefined;
    const spec = encodeClearSpec(place, { keeper: "unknown", removesLayers: false });
    const bytes = await measureLayers(this.#host.options.binary, spec, signal);
    return bytes === undefined ? undefined : { bytes, isInMemory: place.storage === "tmpfs" };
  }

  async #measureShared(folder: string): Promise<number> {
    const place = { ...this.#place({ id: NO_SANDBOX, generation: 1, folder }), storage: "home" as const, layers: treeOf(folder) };
    const spec = encodeClearSpec(place, { keeper: "unknown", removesLayers: false });
    return (await measureLayers(this.#host.options.binary, spec, NEVER)) ?? 0;
  }

  /**
   * Layers in memory go with their first run, unless it was stopped or nobody knows how it ended. Those of another holder go with the
   * folder of the runs.
   */
  async #mayBeHeld(lastRun: Run): Promise<boolean> {
    if (!existsSync(this.#holder()) || this.#otherHolder(lastRun) !== undefined) return false;
    const end = await readEnd(lastRun);
    return lastRun.generation > 1 || end === undefined || end.kept === true || UNKNOWN_ENDS.includes(end.reason);
  }

  /** The socket of the process that holds layers in memory. The jail makes the same name. */
  #holder(): string {
    const { options, idMap } = this.#host;
    return join(options.runtimeDirectory, `holder-${ID_MAP_KIND[idMap.kind]}`);
  }

  /** The process that holds a sandbox's layers, if it is not this runtime's. */
  #otherHolder(run: Run): string | undefined {
    const { holder } = notedStorage(run) ?? {};
    return holder === this.#holder() ? undefined : holder;
  }

  #noteStorage(spec: SandboxSpec, kind: StorageKind): void {
    noteStorage(spec, { kind, ...(kind === "tmpfs" && { holder: this.#holder() }) });
  }

  /** What an earlier run has left does not stop a later one. It is tried again by the next start, and by the removal. */
  async #prepareAgain(spec: SandboxSpec): Promise<void> {
    const kind = this.#place(spec).storage;
    if (!(await this.#host.storage.reach(kind)))
      throw new BelljarError("RUNTIME_UNAVAILABLE", `The storage pool with the files of sandbox ${spec.id} is gone: bring back its image`);
    const other = this.#otherHolder(spec);
    if (other !== undefined)
      throw new BelljarError(
        "RUNTIME_UNAVAILABLE",
        `The files of sandbox ${spec.id} are in memory, held by the process at ${other}: start it with that runtimeDirectory (it depends on XDG_RUNTIME_DIR), as the same user and with the same subordinate ids`,
      );
    await this.#clearRuns(spec, spec.generation - 1).catch(() => undefined);
  }

  /**
   * Clears the runs up to this one that have left something: whatever has left a group has left the folder of its sockets. False: one lives.
   */
  async #clearRuns({ id, folder }: Run, last: number): Promise<boolean> {
    const names = last === 1 ? [runName({ id, generation: 1 })] : await readdir(this.#host.options.runtimeDirectory);
    let areDead = true;
    for (const name of names) {
      const generation = name.startsWith(`${id}-`) ? Number(name.slice(id.length + 1)) : Number.NaN;
      const run = { id, generation, folder };
      if (!(generation <= last) || !existsSync(this.#sockets(run))) continue;
      const end = await this.#clear(run, { keeper: "unknown", removesLayers: false });
      areDead &&= end !== undefined;
    }
    return areDead;
  }

  async #describe(base: Base): Promise<Inside> {
    const { env, folders } = await this.#templates.need(base);
    return { env, ...folders };
  }

  async #clear(run: Run, request: ClearRequest): Promise<SandboxEnd | undefined> {
    makeRunFolder(run);
    if (!(await clearFolder(this.#host.options.binary, encodeClearSpec(this.#place(run), request)))) return undefined;
    const lost: SandboxEnd = { reason: request.keeper === "silent" ? "killed" : "keeper_lost", at: new Date() };
    return (await readEnd(run)) ?? (request.removesLayers ? lost : unwrittenEnd(run, lost));
  }

  #running(run: RecordedRun, { isUp }: { readonly isUp: boolean }): NamespaceSandbox {
    return new NamespaceSandbox({
      run,
      sockets: this.#sockets(run),
      countsUsage: this.#host.cgroups.limits.includes("memoryBytes"),
      isUp,
      clear: (request) => this.#clear(run, request),
    });
  }

  /** Of a sandbox that no run was started of nothing is on disk, whatever the kind. */
  #place(run: Run): JailPaths {
    const { storage, idMap } = this.#host;
    const { id, generation, folder } = run;
    const kind = parseKind(notedStorage(run)?.kind) ?? storage.kind;
    const layers = storage.layers(kind, id, folder);
    return { id, generation, folder: runFolder(run), sockets: this.#sockets(run), layers, slots: SLOTS, idMap, storage: kind };
  }

  #sockets(run: Run): string {
    return join(this.#host.options.runtimeDirectory, runName(run));
  }

  /** A later run uses the storage of the first, whatever the configuration says by then. */
  async #storageOf(spec: SandboxSpec): Promise<StorageKind> {
    return spec.generation === 1 ? this.#host.storage.choose(spec.limits, { isKept: isKept(spec) }) : this.#place(spec).storage;
  }

  #needAction(spec: SandboxSpec): void {
    const { deadlineAction } = spec;
    if (deadlineAction === "pause" && !this.#host.cgroups.freezer)
      throw new BelljarError(
        "NOT_SUPPORTED",
        "This host has no freezer for this user, so no sandbox can be paused: use another action for the deadline",
      );
  }

  #needLimits(spec: SandboxSpec, storage: StorageKind): void {
    const { limits } = this.#host;
    const holds = (limit: keyof Limits): boolean => (limit === "diskBytes" ? storage !== "home" : limits.includes(limit));
    const missing = spec.required.filter((limit) => !holds(limit));
    if (missing.length === 0) return;
    throw new BelljarError(
      "LIMIT_UNENFORCEABLE",
      `This host cannot enforce ${missing.join(", ")}. Leave it out, or ask for best effort; \`belljar doctor\` tells what would make it possible`,
    );
  }
}

/** It is to outlive its run. */
function isKept({ deadlineAction = "kill" }: SandboxSpec): boolean {
  return deadlineAction !== "kill";
}

function cancelled(signal: AbortSignal): BelljarError {
  return new BelljarError("CANCELLED", "The sandbox was not made: its caller cancelled", { cause: signal.reason });
}
