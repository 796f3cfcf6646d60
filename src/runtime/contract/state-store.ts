import type { RecordedRun, Run } from "./run.ts";
import type { Mount, SandboxSpec } from "./sandbox-spec.ts";

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
