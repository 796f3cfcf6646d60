import type { Duplex } from "node:stream";

/** A way to make sandboxes. Everything above `runtime/` sees sandboxes through this and {@link RunningSandbox} alone. */
export interface Runtime {
  readonly name: string;
  readonly layers: LayerStore;
  /** Absent where what sandboxes write lies in no file system of the runtime's own. */
  readonly storagePool?: StoragePool;
  /** Absent where sandboxes cannot share folders: a create with `mounts` then rejects with `NOT_SUPPORTED`. */
  readonly shared?: SharedFolders;
  /** What this runtime enforces on this host, found by trying, not by reading version strings. Cached after the first call. */
  probe(): Promise<Isolation>;
  /**
   * Starts one run of a sandbox and resolves once its guest answers. `spec.folder` exists and belongs to this sandbox alone. The first
   * run makes the sandbox's layers; each later run finds them as the run before it left them. Rejects with `LIMIT_UNENFORCEABLE`,
   * `NOT_SUPPORTED`, `TEMPLATE_NOT_FOUND`, `RUNTIME_UNAVAILABLE` or `RUNTIME_FAILED`; a later run also with
   * `SANDBOX_FILES_LOST`. On rejection or abort nothing of the run is left,
   * and layers that were there before are as they were.
   */
  create(spec: SandboxSpec, signal: AbortSignal): Promise<RunningSandbox>;
  /** Opens a run that an earlier or another process started; undefined when it lives no more. */
  open(run: RecordedRun): Promise<RunningSandbox | undefined>;
  /**
   * Looks at very many runs together, in their order. Undefined for each run that does not answer at once, whole and in order: look at it by
   * itself. Of one that is running, its guest has answered too. Never rejects. Absent: each is looked at by itself.
   */
  look?(runs: readonly RecordedRun[]): Promise<readonly (RunLook | undefined)[]>;
  /**
   * Clears what a dead run left behind (control groups, sockets) and says why it ended; undefined while it lives. The sandbox's layers
   * stay. The end of a second or later run that was lost, or that never came up, is `kept`. Safe to call from several processes at once.
   */
  clear(run: Run): Promise<SandboxEnd | undefined>;
}

/**
 * The room that a runtime has for what sandboxes write. Whoever opened the runtime disposes it: sandboxes live on, and when none lives in the
 * pool and nobody else has it open, its room is given back as far as it is free.
 */
export interface StoragePool extends AsyncDisposable {
  /** Undefined while there is none. Rejects with `RUNTIME_UNAVAILABLE` and `RUNTIME_FAILED`. */
  holds(): Promise<PoolHoldings | undefined>;
  /** Fits its size to the room that the host has, and gives back what is free. Does nothing while this process does not use it. */
  tend(): Promise<void>;
}

/** All as of some seconds ago. */
export interface PoolHoldings {
  /** As much as it may hold now. */
  readonly sizeBytes: number;
  readonly usedBytes: number;
  /** As much as it takes of the host's disk. */
  readonly hostBytes: number;
  /** What each sandbox wrote, by id. What it wrote before a freeze counts here for as long as the sandbox is there. */
  readonly sandboxes: ReadonlyMap<string, number>;
  /** How many frozen layers lie in it. */
  readonly layers: number;
}

/**
 * Folders of the host that several sandboxes write to at once, each in `tree` in a folder of its own. No link in one leads a sandbox out of its own
 * files; whoever reads one on the host follows none. Their ids are those inside, whichever sandbox wrote, where the host has ids for them.
 */
export interface SharedFolders {
  /** Makes `folder/tree`, empty, of the user inside. `folder` exists and is this one's alone. */
  make(folder: string): Promise<void>;
  /** Removes `folder/tree` with all in it, whoever's it is, and follows no link. One that is gone is no error. */
  remove(folder: string): Promise<void>;
  /** How much room `folder/tree` takes, as far as that can be read within a minute. 0 if it is gone. Rejects with `RUNTIME_FAILED`. */
  measure(folder: string): Promise<number>;
  /** What the host has for ids inside. Undefined: nobody of this process may have files with these. */
  toHost(ids: FileIds): FileIds | undefined;
  /** The way back. Ids that no sandbox can have are those of `nobody`. */
  toInside(ids: FileIds): FileIds;
}

export interface FileIds {
  readonly uid: number;
  readonly gid: number;
}

/** What sandboxes start from, and what they wrote. Layers lie beside a sandbox's runs: a run uses them and never owns them. */
export interface LayerStore {
  /** What a person may name. The first is `DEFAULT_BASE`'s, which every runtime has. */
  templates(): Promise<readonly TemplateInfo[]>;
  /** What a sandbox on this base shows inside that has no workspace. Rejects with `TEMPLATE_NOT_FOUND`, and `NOT_SUPPORTED` for a kind of base that it does not have. */
  describe(base: Base): Promise<Inside>;
  /** Removes all that a sandbox wrote, and lets go of the layers below. Its last run has ended. Removing it again is no error. */
  remove(lastRun: Run): Promise<void>;
  /** Whether the files that a sandbox wrote are there. No run of it lives. Rejects with `RUNTIME_UNAVAILABLE` if nobody can tell. */
  has(lastRun: Run): Promise<boolean>;
  /**
   * How much room these files take. No run of it lives. Undefined: the files are gone. Takes no longer than a minute, and
   * stops counting then. Rejects with `RUNTIME_UNAVAILABLE` and `RUNTIME_FAILED` if nobody can tell.
   */
  measure(lastRun: Run, signal: AbortSignal): Promise<LayersSize | undefined>;
  /**
   * What the sandbox wrote in its last run, and what it lies on, outlives a power cut. Files in memory do not: for these it does nothing.
   * Rejects with `RUNTIME_FAILED` if the disk fails.
   */
  flush(lastRun: Run): Promise<void>;
  /** Absent where `Isolation.states` is `none`. */
  readonly states?: StateStore;
}

/** The layers of a sandbox, without those that it shares with other sandboxes. */
export interface LayersSize {
  readonly bytes: number;
  /** They lie in the memory of the machine. */
  readonly isInMemory: boolean;
}

/**
 * Frozen states of what sandboxes wrote. A state is a list of layers, the topmost first. Layers never change, and states share them. A layer
 * stays as long as it has a user: a name of 1 to 64 characters of a-z, 0-9 and `-` that says whose it is.
 */
export interface StateStore {
  /**
   * Freezes what a sandbox has written until now as one layer, on top of those that it lies on. Where that takes longer than a moment, its
   * programs stand still meanwhile, whether it runs or is paused. `user` uses all layers of the state. On rejection or abort nothing is left.
   * Rejects with `DISK_FULL`, `SANDBOX_FILES_LOST`, `SANDBOX_UNRESPONSIVE` for programs that do not stand still, and `RUNTIME_FAILED`.
   */
  freeze(request: FreezeRequest, signal: AbortSignal): Promise<FrozenState>;
  /**
   * Makes a frozen layer of what a layer of an OCI image holds, whiteouts too. `user` uses it: a sweep asks for this name if it takes minutes.
   * On rejection or abort nothing is left. Rejects with `IMAGE_INVALID`, `IMAGE_TOO_LARGE`, `DISK_FULL`, `SANDBOX_FILES_LOST` for a layer
   * below, `RUNTIME_FAILED`, `CANCELLED`, and with what `tar` rejects with.
   */
  unpack(request: UnpackRequest, signal: AbortSignal): Promise<UnpackedLayer>;
  /**
   * Makes one layer that shows what several unpacked ones show, the topmost first, and shares their files. `user` uses it. On rejection or
   * abort nothing is left.
   */
  merge(layers: readonly string[], user: string, signal: AbortSignal): Promise<string>;
  /** These layers, and who uses them, outlive a power cut from now on. */
  flushLayers(layers: readonly string[], signal: AbortSignal): Promise<void>;
  /** How `freeze` would do it for this run. */
  way(run: Run): FrozenState["way"];
  /**
   * What the host's own files are that sandboxes of this template show, below every state: another mark, other files. Found by a look at a
   * few folders, so that a change may be overlooked. Undefined where a template shows none.
   */
  markBase(template: string): string | undefined;
  /** Whether all of these layers are there, and none in part. A power cut may take those that were not made to be durable. */
  has(layers: readonly string[]): Promise<boolean>;
  /** Whether no process has died in the middle of a freeze of this sandbox. Until then `compare` and `read` of its present state reject. */
  isSettled(run: Run): Promise<boolean>;
  /** Finishes what such a process has begun. No freeze and no rewind of the sandbox may be going on. */
  settle(run: Run): Promise<void>;
  /** One more user of layers. Rejects with `SANDBOX_FILES_LOST` when one of them is gone. Doing it again is no error. */
  hold(layers: readonly string[], user: string): Promise<void>;
  /** The user needs these no more. Layers that nobody uses are removed. Doing it again is no error. */
  letGo(layers: readonly string[], user: string): Promise<void>;
  /**
   * Puts a sandbox back to a state between two runs: what it wrote since is gone, and its next run starts with that state. It has had a run,
   * and none lives. If this process dies in the middle, the next run starts with the state all the same. Rejects with `SANDBOX_FILES_LOST`.
   */
  rewind(run: Run, layers: readonly string[]): Promise<void>;
  /** Removes what a process that died has left: users that are none, and layers that nobody uses. Layers that are being made stay. */
  sweep(isUser: (user: string) => Promise<boolean>): Promise<void>;
  /**
   * What differs between two states of sandboxes that started from the same template, path by path. A folder comes before what is in it. Reads
   * names, attributes and contents, and follows no link. A live sandbox may change meanwhile.
   */
  compare(from: StateView, to: StateView, signal: AbortSignal): AsyncIterable<StateChange>;
  /**
   * How many bytes the files have that these layers hold on a template of the runtime's own, layer by layer: what one covers or removes of
   * another counts too. Stops counting past `maxBytes`. Rejects as `compare` does.
   */
  measure(layers: readonly string[], template: string, options: StateReading): Promise<number>;
  /** The content of a regular file, as the caller takes it. Rejects with `FILE_NOT_FOUND`, and with `FILE_TOO_LARGE` past `maxBytes`. */
  read(view: StateView, path: Buffer, options: StateReading): AsyncIterable<Buffer>;
}

export interface StateReading {
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface FreezeRequest {
  /** The sandbox's present run, or its last one. */
  readonly run: RecordedRun;
  /** The run lives. */
  readonly isRunning: boolean;
  /** The state must be on the disk, whole, before the answer, so that a power cut loses none of it. */
  readonly durable: boolean;
  /** Only this sandbox will ever start from the state. It may then go with the sandbox's own files, and takes less time. */
  readonly isOwn: boolean;
  readonly user: string;
}

export interface UnpackRequest {
  /** An uncompressed tar archive, as in an image. Nobody vouches for it. It is read as fast as its files are written. */
  readonly tar: AsyncIterable<Uint8Array>;
  readonly user: string;
  /**
   * The layers that it lies on, the topmost first: links of theirs lead on, hard links may name their files, and their folders keep their
   * attributes where the archive says nothing of them. So the layer is for these alone. Default: none.
   */
  readonly below?: readonly string[];
  /** Bounds of all that the archive has, also of what is left out or written over. Attributes and texts of links count as bytes. */
  readonly maxBytes: number;
  /** Less than 2^32. */
  readonly maxEntries: number;
  /** As of `freeze`. Otherwise it is written in the background. */
  readonly durable?: boolean;
}

export interface UnpackedLayer {
  readonly layer: string;
  readonly bytes: number;
  readonly entries: number;
  /** Device nodes, which no sandbox may have. */
  readonly skipped: number;
}

export interface FrozenState {
  readonly layers: readonly string[];
  readonly way: "clone" | "copy";
  /** With `copy`: what stood in the way of a clone. */
  readonly copyReason?: CopyReason | undefined;
  /** How long the programs stood still, in milliseconds. */
  readonly stillMs: number;
}

/**
 * Why what a sandbox wrote was copied. `durable`: it must outlive the sandbox, or a power cut. `stopped` and `paused`: nobody inside could
 * take part. `programs`: one beside the guest was alive, programs may set filters of their own, or no room was left. `depth`: too many
 * layers lay below. `place`: the layers cannot be moved to where frozen ones lie, or an earlier release started the sandbox.
 */
export type CopyReason = "durable" | "stopped" | "paused" | "programs" | "depth" | "place";

/** A sandbox at one of its states, or as it is now. */
export interface StateView {
  readonly sandbox: Pick<SandboxSpec, "id" | "generation" | "folder" | "inside" | "workspace"> & {
    readonly template: string;
    readonly mounts?: readonly Pick<Mount, "at">[];
  };
  /** Absent: as it is now. */
  readonly layers?: readonly string[];
}

/** One path that differs. Absent `before`: it was added. Absent `after`: it was removed. */
export interface StateChange {
  /** Absolute, inside. Bytes: names may be any. */
  readonly path: Buffer;
  readonly before?: StateEntry;
  readonly after?: StateEntry;
  /** A folder that lies so deep that nobody looked into it. What lies in it may differ. */
  readonly isUnseen?: true;
}

export interface StateEntry {
  readonly type: "file" | "directory" | "link" | "other";
  /** Permission bits. */
  readonly mode: number;
  /** Ids inside. */
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtimeNs: bigint;
  /** The text of a symbolic link. */
  readonly target?: Buffer;
  /** Which file it is, where a file has several names: the same on one side of a comparison for all of them. */
  readonly file?: string;
  /** Extended attributes of users (`user.*`) by their names, a character for each byte. Absent: none. */
  readonly attributes?: ReadonlyMap<string, Buffer> | undefined;
  /** They are too long for `attributes`, which is absent. */
  readonly hasUntoldAttributes?: true | undefined;
}

/** What is told of a template. */
export interface TemplateInfo {
  readonly name: string;
  readonly description: string;
}

/** The base of a sandbox that was created without one. */
export const DEFAULT_BASE = { template: "base" } as const;

/**
 * The base of a sandbox whose programs all come from `Base.layers`, which anybody may have made. It has what every sandbox needs, and Belljar's own
 * programs. A runtime without `Isolation.states` has none.
 */
export const BARE_BASE = { template: "bare" } as const;

/** What a sandbox starts from. */
export interface Base {
  readonly template: string;
  /**
   * A state of a sandbox that started from this template, or the layers of an image, the topmost first. Only the first run looks at it. The
   * sandbox becomes a user of the layers.
   */
  readonly layers?: readonly string[];
}

/** One run of a sandbox. A sandbox is an id; it may be stopped and started again, and each start is a run. */
export interface Run {
  readonly id: string;
  /** Counts the sandbox's runs, from 1. */
  readonly generation: number;
  /** The sandbox's own folder on the host, absolute. The runtime owns `runs/` and `layers/` in it. */
  readonly folder: string;
}

/** A run with what was written down when the sandbox was made. */
export interface RecordedRun extends Run {
  readonly inside: Inside;
}

/** What a sandbox shows inside, whatever it is made of. */
export interface Inside {
  /** The base's environment, for every command. HOME, USER and the like come from the guest. */
  readonly env: Readonly<Record<string, string>>;
  /** The home of the user whose commands name no other one. */
  readonly home: string;
  /** Where its workspace is shown; without one, the home. `/workspace` leads there, but in a sandbox on `BARE_BASE` without a workspace. */
  readonly workspace: string;
  /** Where a command starts that names no folder. */
  readonly cwd: string;
}

/** What a runtime is opened with. */
export interface RuntimeOptions {
  /** `$BELLJAR_HOME`, absolute. */
  readonly home: string;
  /** A short 0700 folder for sockets. */
  readonly runtimeDirectory: string;
  readonly storage: "auto" | "btrfs" | "tmpfs" | "home";
  /** The native binary. */
  readonly binary: string;
  /** Belljar's programs that run inside. */
  readonly kernels?: string;
  /** Executables for `/opt/belljar/bin` inside: their names there, and the files on this host. */
  readonly programs?: Readonly<Record<string, string>>;
  readonly onProgress?: (message: string) => void;
}

/** One run of a sandbox that lives. Disposing it kills the sandbox and resolves when nothing of it is left; `release` lets it live on. */
export interface RunningSandbox extends AsyncDisposable {
  readonly id: string;
  readonly generation: number;
  /** The template's environment, for every command inside. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Opens one stream to the guest: one stream, one operation, with the kernel's own back-pressure. The caller destroys it. Streams
   * that the guest cannot take yet wait in line. Rejects with `SANDBOX_PAUSED`, and with `SANDBOX_UNRESPONSIVE` when the line stands still.
   */
  connect(signal: AbortSignal): Promise<Duplex>;
  /** Within seconds, as all below: rejects with `SANDBOX_UNRESPONSIVE`. What only its guest knows is 0 when that does not answer. */
  usage(): Promise<Usage>;
  /**
   * Moves the moment at which the keeper acts by itself, whether or not this process still lives; undefined takes it away. `action`: what
   * the keeper does then; absent: what was set before. Rejects with `NOT_SUPPORTED` for an action that this sandbox cannot have.
   */
  extend(deadline: Date | undefined, action?: DeadlineAction): Promise<void>;
  /**
   * Freezes all its programs, and gives memory back to the host where the kernel can take it. Each pause and each resume, whoever asked for
   * it, sets a new time on `Run.folder`. Rejects with `NOT_SUPPORTED` where `Isolation.pause` is false.
   */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Whether `connect` would reject with `SANDBOX_PAUSED` now. Asks nobody. */
  isPaused(): boolean;
  /**
   * From now on it is paused by itself when it has been idle for about this time, whether or not this process still lives; undefined: never.
   * It is idle while nobody waits on a stream of its guest, no call comes (a PING is none), and its programs use less than a hundredth of a
   * processor. A stream that waits for a connection from inside is no use. Rejects with `NOT_SUPPORTED` where `Isolation.sleep` is false.
   */
  sleepAfter(idleMs: number | undefined): Promise<void>;
  /**
   * Ends the run and keeps all that the sandbox wrote for another run, whatever process crashes. Nothing is flushed: until
   * `LayerStore.flush` a power cut may lose what was written in the last half minute or so. Rejects with `NOT_SUPPORTED` when this run's files cannot be kept; then it lives on. Of a stop and a kill at once, the kill holds.
   */
  stop(): Promise<SandboxEnd>;
  /**
   * Ends the sandbox and removes what it wrote, whether or not anybody in it answers. Resolves when its processes are gone and the reason is
   * written. Killing an ended one is no error.
   */
  kill(reason: EndReason): Promise<SandboxEnd>;
  /** Settles once, when the run has ended; never rejects. */
  readonly ended: Promise<SandboxEnd>;
  /** Closes what this process holds of it; the sandbox lives on. An ephemeral one dies with its process all the same. */
  release(): Promise<void>;
}

/**
 * What the keeper does at the deadline: `kill` deletes the sandbox, `stop` keeps what it wrote. `pause` freezes it, or leaves it frozen, for
 * seven days: then it is stopped. Whatever cannot be paused is stopped. A sandbox whose files cannot be kept is deleted.
 */
export type DeadlineAction = "kill" | "pause" | "stop";

/** The last three are of stopped sandboxes that were removed unasked. No runtime gives them. */
export type EndReason =
  | "stopped"
  | "killed"
  | "deadline"
  | "out_of_memory"
  | "exited"
  | "host_lost"
  | "keeper_lost"
  | "create_failed"
  | "expired"
  | "no_room"
  | "files_lost";

export interface SandboxEnd {
  readonly reason: EndReason;
  /** When the end was written; for `keeper_lost` when it was found. */
  readonly at: Date;
  /** The sandbox was stopped: what it wrote is whole, and another run can be started. */
  readonly kept?: true;
}

export type PauseReason = "asked" | "deadline" | "idle";

/** What a runtime is asked to build. All of it is decided before: names resolved, defaults applied. */
export interface SandboxSpec extends RecordedRun {
  readonly base: Base;
  readonly hostname: string;
  readonly limits: Limits;
  /** Limits that the caller named; one that this host cannot enforce is `LIMIT_UNENFORCEABLE`. */
  readonly required: readonly (keyof Limits)[];
  readonly workspace?: Workspace;
  /** Shared folders that it sees, and can write. They belong to no state. Rejects with `ARGUMENTS_INVALID` as `assertMounts` says. */
  readonly mounts?: readonly Mount[];
  /** Set: dies with the process that made it. */
  readonly ephemeral: boolean;
  /** Programs inside may filter their own system calls. Such filters take from one count of the whole machine. */
  readonly nestedFilters?: boolean;
  /** False: no command runs as root, and `sudo` is refused. Default true, where there are two ids. */
  readonly root?: boolean;
  /**
   * Whoever runs commands, file operations and watches that name nobody, and may use `sudo`: `name`, `uid`, `name:group` or `uid:gid`, in any mixture,
   * as an image says it. What it means is read inside, for each of them: one that means nobody, or root where there is none, is `USER_UNKNOWN`.
   * Default the template's: root on `BARE_BASE` unless `root` is false, else `user`.
   */
  readonly user?: string;
  readonly deadline?: Date;
  /** Default `kill`. */
  readonly deadlineAction?: DeadlineAction;
}

/** Absent means unlimited. */
export interface Limits {
  readonly memoryBytes?: number;
  /** Cores, may be a fraction. */
  readonly cpus?: number;
  readonly pids?: number;
  readonly diskBytes?: number;
  readonly openFiles?: number;
}

/** A host folder that the sandbox sees at `inside.workspace`. */
export interface Workspace {
  readonly path: string;
  readonly mode: "copy" | "ro" | "rw";
}

/** A folder of {@link SharedFolders}. */
export interface Mount {
  /** Its own folder on the host, absolute: what is shown is `tree` in it. */
  readonly folder: string;
  /** Where it is shown, absolute. Folders above it are made. What lies there is hidden, or, if it is no folder, taken away. */
  readonly at: string;
}

export interface Usage {
  readonly memoryBytes: number;
  readonly memoryPeakBytes: number;
  readonly cpuUs: number;
  readonly processes: number;
  /** How many processes the kernel has killed for lack of memory. Absent if nobody counts them on this host. */
  readonly oomKills?: number;
  readonly phase: "running" | "paused" | "ending";
  /** Of a paused one: somebody asked for it, its deadline did it, or it was idle. */
  readonly pauseReason?: PauseReason;
  /** Of a paused one: the memory that it took just before. Absent if nobody counts it on this host. */
  readonly memoryAwakeBytes?: number;
  readonly deadline?: Date;
  readonly deadlineAction: DeadlineAction;
}

/** What a list tells of a run that lives. */
export type RunLook = Pick<Usage, "phase" | "pauseReason" | "deadline" | "deadlineAction">;

/** What holds on this host, line by line; `belljar doctor` and every sandbox's info show it. */
export interface Isolation {
  readonly runtime: string;
  /** False: no sandbox can be made here; `checks` say why and what to do. */
  readonly available: boolean;
  readonly checks: readonly IsolationCheck[];
  /** Limits that are enforced here; the others are reported, not promised. */
  readonly limits: readonly (keyof Limits)[];
  /** `root` and `user` are two ids inside, or one. */
  readonly users: "two" | "one";
  readonly terminals: boolean;
  readonly pause: boolean;
  /** A sandbox can be paused by itself when it is idle. */
  readonly sleep: boolean;
  /** A sandbox can be stopped and started again. */
  readonly stop: boolean;
  /** How most sandboxes are frozen: in constant time, by a copy of what they wrote, or not at all. */
  readonly states: "clone" | "copy" | "none";
}

export interface IsolationCheck {
  /** Stable, kebab-case: `user-namespace`, `seccomp`, `memory-limit` ... */
  readonly id: string;
  readonly state: "enforced" | "partial" | "absent";
  /** One sentence of fact. */
  readonly detail: string;
  /** The exact thing to do to get it, when there is one. */
  readonly remedy?: string;
}
