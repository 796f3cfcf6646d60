import type { FileHandle } from "node:fs/promises";
import { rm, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { FileIds, SharedFolders } from "../../runtime/contract/shared-folders.ts";
import { INSIDE } from "../../protocol/inside.ts";
import { HostFolder } from "../workspace/host-folder.ts";
import { tellVolumeError } from "./volume-errors.ts";
import { idsOf, toEntry, type VolumeEntry } from "./volume-entry.ts";
import { PART } from "./volume-store.ts";
import { below, parentOf, parseVolumePath, showVolumePath } from "./volume-path.ts";

const LISTED_MAX = 10_000;
const LISTED_MAX_BYTES = 8_388_608;
const PERMISSIONS = 0o777;
const FILE_MODE = 0o644;
const FOLDER_MODE = 0o755;
const REMOVED = { recursive: true, force: true } as const;
/** While bytes come, the bin of an upload is never older. */
const FRESH_MS = 600_000;
const USER: FileIds = { uid: INSIDE.userId, gid: INSIDE.userId };

export type { VolumeEntry } from "./volume-entry.ts";

export interface VolumeMetadata extends Partial<FileIds> {
  /** Permission bits. Others are left out: no program of a volume runs as its owner. */
  readonly mode?: number | undefined;
}

export interface MakeOptions extends VolumeMetadata {
  /** Of a folder: those above it are made too, and one that is there is no error. Of a file: one that is there is written over. */
  readonly force?: boolean | undefined;
}

export interface VolumeFilesOptions {
  /** The volume's folder on the host, a real path. */
  readonly root: string;
  readonly shared: Pick<SharedFolders, "toHost" | "toInside">;
  /** Rejects with `DISK_FULL` if nothing may be written. */
  readonly room: () => Promise<void>;
  /** Before so many bytes are written. Rejects with `DISK_FULL`. */
  readonly take: (bytes: number) => Promise<void>;
  readonly removed: () => void;
  /** A folder beside the volume's, for what is not in it yet, or no more. One that its process leaves is removed when it is old. */
  readonly makeBin: () => Promise<string>;
  /** With what programs in sandboxes have written below `tree`. */
  readonly eraseBin: (bin: string) => Promise<void>;
}

/**
 * The files of one volume, for a client that has no sandbox. Programs in sandboxes change them at the same time, and may be hostile: every folder of
 * a path must be a real one, no link is followed, and no error tells where the volume lies on the host.
 */
export class VolumeFiles {
  readonly #options: VolumeFilesOptions;
  readonly #folder: HostFolder;
  /** What the volume's folder and the bins lie in. */
  readonly #above: HostFolder;

  constructor(options: VolumeFilesOptions) {
    this.#options = options;
    this.#folder = new HostFolder(options.root);
    this.#above = new HostFolder(dirname(options.root));
  }

  /** Rejects with `FILE_NOT_FOUND`. */
  stat(text: string): Promise<VolumeEntry> {
    return this.#told(text, (path) => this.#need(path));
  }

  /** What lies in a folder, and in those below it up to `depth` levels, by path. Rejects with `FILE_TOO_LARGE` for very many entries, or long names. */
  list(text: string, depth: number, signal: AbortSignal): Promise<readonly VolumeEntry[]> {
    return this.#told(text, async (path) => {
      const folder = await this.#need(path);
      if (folder.type !== "directory") throw new BelljarError("FILE_NOT_DIRECTORY", "it is no folder");
      const listed: Listed = { entries: [], bytes: 0, signal };
      await this.#collect(path, depth, listed);
      return listed.entries;
    });
  }

  /** Rejects with `FILE_EXISTS`, and with `FILE_NOT_FOUND` for a folder above that is not there. */
  makeFolder(text: string, { force, ...metadata }: MakeOptions): Promise<VolumeEntry> {
    return this.#told(text, async (path) => {
      const now = await this.#find(path);
      if (now?.type === "directory" && force) return now;
      if (now) throw new BelljarError("FILE_EXISTS", "there is something already");
      await this.#options.room();
      const ids = this.#toHost(metadata);
      if (force) await this.#makeAbove(path, ids);
      else await this.#needFolder(parentOf(path));
      await this.#make(path, ids, metadata.mode);
      return this.#need(path);
    });
  }

  /** Of a regular file. The caller closes it. */
  open(text: string): Promise<{ readonly file: FileHandle; readonly size: number }> {
    return this.#told(text, async (path) => {
      await this.#need(path);
      const file = await this.#folder.openFile(path);
      const stats = await file.stat();
      if (stats.isFile()) return { file, size: stats.size };
      await file.close();
      throw new BelljarError("FILE_IS_DIRECTORY", "it is no regular file");
    });
  }

  /**
   * Writes a file whole or not at all: readers see the old content or the new one. Rejects with `FILE_EXISTS` if one is there and `force` is false,
   * and with `DISK_FULL` past the volume's quota.
   */
  // eslint-disable-next-line max-params -- what waits takes a signal
  write(text: string, content: AsyncIterable<Uint8Array>, { force, ...metadata }: MakeOptions, signal: AbortSignal): Promise<VolumeEntry> {
    return this.#told(text, async (path) => {
      const now = await this.#find(path);
      if (now && force === false) throw new BelljarError("FILE_EXISTS", "there is something already");
      if (path.length === 0 || now?.type === "directory") throw new BelljarError("FILE_IS_DIRECTORY", "it is a folder");
      await this.#needFolder(parentOf(path));
      const ids = this.#toHost(metadata);
      const bin = await this.#options.makeBin();
      const part = partIn(bin);
      const place = below(Buffer.from(basename(this.#options.root)), path);
      try {
        await this.#fill(bin, content, { ids, mode: metadata.mode ?? FILE_MODE, signal });
        await (force === false ? this.#above.place(part, place) : this.#above.rename(part, place));
      } catch (cause) {
        await rm(bin, REMOVED);
        this.#options.removed();
        throw cause;
      }
      await rm(bin, REMOVED);
      return this.#need(path);
    });
  }

  /** Rejects with `NOT_SUPPORTED` for ids that this server cannot give. A link has no mode. */
  update(text: string, metadata: VolumeMetadata): Promise<VolumeEntry> {
    return this.#told(text, async (path) => {
      const { uid, gid, type } = await this.#need(path);
      const { mode, ...ids } = metadata;
      if (path.length === 0) throw new BelljarError("PATH_INVALID", "the volume's own folder stays as it is");
      if (ids.uid !== undefined || ids.gid !== undefined)
        await this.#folder.setOwner(path, this.#toHost({ uid: ids.uid ?? uid, gid: ids.gid ?? gid }));
      if (mode !== undefined && type !== "symlink") await this.#folder.setMode(path, mode & PERMISSIONS);
      return this.#need(path);
    });
  }

  /** A folder goes with all in it. Rejects with `FILE_NOT_FOUND`. */
  remove(text: string): Promise<void> {
    return this.#told(text, async (path) => {
      const { type } = await this.#need(path);
      if (path.length === 0) throw new BelljarError("PATH_INVALID", "the volume's own folder goes with the volume alone");
      await (type === "directory" ? this.#removeFolder(path) : this.#folder.remove(path));
      this.#options.removed();
    });
  }

  async #removeFolder(path: Buffer): Promise<void> {
    const bin = await this.#options.makeBin();
    try {
      await this.#folder.moveOut(path, join(bin, "tree"));
    } finally {
      await this.#options.eraseBin(bin);
    }
  }

  async #collect(folder: Buffer, depth: number, listed: Listed): Promise<void> {
    const names = (await this.#folder.names(folder, LISTED_MAX)) ?? []; // it was removed meanwhile
    for (const name of names.toSorted((one, other) => Buffer.compare(one, other))) {
      if (listed.signal.aborted) throw new BelljarError("CANCELLED", "the client is gone");
      const path = below(folder, name);
      const entry = await this.#find(path);
      if (!entry) continue;
      addTo(listed, entry);
      if (entry.type === "directory" && depth > 1) await this.#collect(path, depth - 1, listed);
    }
  }

  async #makeAbove(path: Buffer, ids: FileIds): Promise<void> {
    for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1)) {
      const folder = path.subarray(0, end);
      if (!(await this.#find(folder))) await this.#make(folder, ids, undefined);
    }
    await this.#needFolder(parentOf(path));
  }

  async #make(path: Buffer, ids: FileIds, mode = FOLDER_MODE): Promise<void> {
    await this.#folder.makeDirectory(path);
    await this.#folder.setOwner(path, ids);
    await this.#folder.setMode(path, mode & PERMISSIONS);
  }

  /** Each piece is counted before it is written, so that several uploads at once have no more room than one. */
  async #fill(bin: string, content: AsyncIterable<Uint8Array>, { ids, mode, signal }: Filling): Promise<void> {
    await using file = await this.#above.createFile(partIn(bin));
    await this.#options.room();
    let freshAt = performance.now();
    for await (const chunk of whole(content)) {
      if (signal.aborted) throw new BelljarError("CANCELLED", "the upload was cut off");
      await this.#options.take(chunk.byteLength);
      await file.writeFile(chunk);
      if (performance.now() - freshAt < FRESH_MS) continue;
      freshAt = performance.now();
      await utimes(bin, new Date(), new Date());
    }
    await file.chown(ids.uid, ids.gid);
    await file.chmod(mode & PERMISSIONS);
  }

  #toHost({ uid = USER.uid, gid = USER.gid }: Partial<FileIds>): FileIds {
    const ids = this.#options.shared.toHost({ uid, gid });
    if (ids) return ids;
    throw new BelljarError(
      "NOT_SUPPORTED",
      `this server cannot give files to ${uid}:${gid}: leave the ids out, for ${USER.uid}:${USER.gid}`,
    );
  }

  async #need(path: Buffer): Promise<VolumeEntry> {
    const entry = await this.#find(path);
    if (entry) return entry;
    throw new BelljarError("FILE_NOT_FOUND", "it is not there");
  }

  async #needFolder(path: Buffer): Promise<void> {
    const { type } = await this.#need(path);
    if (type !== "directory") throw new BelljarError("FILE_NOT_DIRECTORY", "what lies above it is no folder");
  }

  async #find(path: Buffer): Promise<VolumeEntry | undefined> {
    const found = await this.#folder.details(path);
    return found && toEntry(path, found.stats, { ids: this.#options.shared.toInside(idsOf(found.stats)), target: found.target });
  }

  async #told<T>(text: string, work: (path: Buffer) => Promise<T>): Promise<T> {
    const path = parseVolumePath(text);
    try {
      return await work(path);
    } catch (cause) {
      throw tellVolumeError(showVolumePath(path), cause);
    }
  }
}

function partIn(bin: string): Buffer {
  return Buffer.from(`${basename(bin)}/${PART}`);
}

/** A client that goes is no fault of the disk's. */
async function* whole(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* content;
  } catch (cause) {
    throw cause instanceof BelljarError ? cause : new BelljarError("CANCELLED", "the upload was cut off", { cause });
  }
}

interface Filling {
  readonly ids: FileIds;
  readonly mode: number;
  readonly signal: AbortSignal;
}

/** What was found so far. */
interface Listed {
  readonly entries: VolumeEntry[];
  bytes: number;
  readonly signal: AbortSignal;
}

function addTo(listed: Listed, entry: VolumeEntry): void {
  listed.bytes += Buffer.byteLength(entry.path) + Buffer.byteLength(entry.target ?? "");
  if (listed.bytes > LISTED_MAX_BYTES || listed.entries.push(entry) > LISTED_MAX)
    throw new BelljarError("FILE_TOO_LARGE", `there are more than ${LISTED_MAX} entries, or their names are too long: list less deep`);
}
