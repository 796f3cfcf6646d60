import { Readable } from "node:stream";
import { BelljarError } from "../../../errors.ts";
import type { Guest } from "../../../runtime/guest/guest.ts";
import type { StateEntry, StateStore, StateView } from "../../../runtime/contract/state-store.ts";
import { fromKey, parentKey, showPath } from "../../workspace/entry.ts";
import type { ChangedPaths } from "../../wire/state-schemas.ts";
import { hasSameAttributes } from "./attributes.ts";
import { GuestHand } from "./guest-hand.ts";

/** With its holes, which cost time on their way. */
const FILE_MAX_BYTES = 1024 * 1024 * 1024;
/** A folder can be written into until all that lies in it is there. */
const OWNER_MAY_ALL = 0o700;

/** What a path of a live sandbox becomes, by the key of its path. */
export interface PathWrite {
  readonly key: string;
  /** What it is now. */
  readonly now?: StateEntry | undefined;
  /** What it becomes; absent: it is removed. */
  readonly wanted?: StateEntry | undefined;
  /** In place of what the file holds in the state. */
  readonly content?: Buffer | undefined;
}

export interface WriteSources {
  readonly states: StateStore;
  /** Where the contents come from. */
  readonly from: StateView;
  readonly guest: Guest;
  readonly signal: AbortSignal;
}

type Conflict = ChangedPaths["conflicts"][number];

/** Writes paths of a live sandbox, ordered by path: nothing else is touched. What cannot be written is named, and the rest goes on. */
export async function writeChanges(sources: WriteSources, writes: readonly PathWrite[]): Promise<ChangedPaths> {
  return new Writing(sources).all(writes);
}

class Writing {
  readonly #sources: WriteSources;
  readonly #hand: GuestHand;
  readonly #conflicts = new Map<string, Conflict>();
  /** Folders above them. */
  readonly #holding = new Set<string>();
  readonly #changed = new Set<string>();
  /** What was written of a file that has several names. */
  readonly #files = new Map<string, PathWrite>();

  constructor(sources: WriteSources) {
    this.#sources = sources;
    this.#hand = new GuestHand(sources.guest, sources.signal);
  }

  /**
   * First what goes, from the bottom up; then what comes, from the top down, files and links with all that belongs to them; last the modes
   * of folders, which may forbid to write there.
   */
  async all(writes: readonly PathWrite[]): Promise<ChangedPaths> {
    const upwards = writes.toReversed();
    for (const write of upwards) if (isGone(write)) await this.#try(write, () => this.#remove(write));
    for (const write of writes) if (write.wanted && !this.#isBlocked(write.key)) await this.#try(write, () => this.#make(write));
    for (const write of upwards) if (isFolder(write) && this.#changed.has(write.key)) await this.#try(write, () => this.#finish(write));
    const show = (key: string): string => showPath(fromKey(key));
    return { changed: [...this.#changed].toSorted().map(show), conflicts: [...this.#conflicts].toSorted(byKey).map(([, one]) => one) };
  }

  async #try(write: PathWrite, work: () => Promise<void>): Promise<void> {
    if (this.#conflicts.has(write.key)) return;
    try {
      await work();
      this.#changed.add(write.key);
    } catch (cause) {
      if (!(cause instanceof BelljarError) || !cause.code.match(OF_ONE_PATH)) throw cause;
      this.#changed.delete(write.key);
      this.#conflicts.set(write.key, { path: showPath(fromKey(write.key)), reason: cause.message });
      for (let above = parentKey(write.key); above !== "" && !this.#holding.has(above); above = parentKey(above)) this.#holding.add(above);
    }
  }

  async #remove({ key, now }: PathWrite): Promise<void> {
    if (now?.type === "directory" && this.#holding.has(key))
      throw new BelljarError("DIRECTORY_NOT_EMPTY", "something in it could not be removed");
    await this.#hand.remove(fromKey(key));
  }

  /** What should hold it could not be made. */
  #isBlocked(key: string): boolean {
    for (let above = parentKey(key); above !== ""; above = parentKey(above)) if (this.#conflicts.has(above)) return true;
    return false;
  }

  async #make(write: PathWrite): Promise<void> {
    const { key, now, wanted } = write;
    if (!wanted) return;
    const path = fromKey(key);
    if (wanted.type === "directory") {
      if (now?.type !== "directory") await this.#hand.makeDirectory(path, { wanted, mode: wanted.mode | OWNER_MAY_ALL });
    } else if (wanted.type === "file") {
      if (!(await this.#link(path, write))) await this.#write(path, write);
    } else if (wanted.type === "link" && wanted.target) {
      if (now?.type === "link") await this.#hand.remove(path);
      await this.#hand.symlink(path, { wanted, target: wanted.target });
      await this.#finish(write);
    } else throw new BelljarError("NOT_SUPPORTED", "a socket, a pipe or a device cannot be brought back: start the program that makes it");
  }

  /** Whether the file was there under another name already, and has this one too now. */
  async #link(path: Buffer, { wanted, content }: PathWrite): Promise<boolean> {
    const other = wanted?.file === undefined ? undefined : this.#files.get(wanted.file);
    if (!wanted || !other?.wanted || !isSameFile(other, { wanted, content })) return false;
    return this.#hand.link(path, { wanted, from: fromKey(other.key) });
  }

  async #write(path: Buffer, write: PathWrite): Promise<void> {
    const { wanted, content } = write;
    if (!wanted) return;
    await this.#hand.write(path, { wanted, content: () => content ?? this.#read(path, wanted) });
    await this.#finish(write);
    if (wanted.file !== undefined) this.#files.set(wanted.file, write);
  }

  #read(path: Buffer, { size }: StateEntry): Buffer | Readable {
    if (size > FILE_MAX_BYTES)
      throw new BelljarError("FILE_TOO_LARGE", `it has more than ${FILE_MAX_BYTES} bytes: copy it by hand, or roll back as a whole`);
    if (size === 0) return Buffer.alloc(0);
    const { states, from, signal } = this.#sources;
    return Readable.from(states.read(from, path, { maxBytes: FILE_MAX_BYTES, signal }));
  }

  async #finish({ key, wanted }: PathWrite): Promise<void> {
    if (wanted) await this.#hand.finish(fromKey(key), wanted);
  }
}

/** What concerns one path, and no other. */
const OF_ONE_PATH = /^(?:FILE_|DIRECTORY_|PATH_INVALID|NOT_SUPPORTED)/;

/** A folder that becomes a file is removed first. A file is replaced in one step by another one. */
function isGone({ now, wanted }: PathWrite): boolean {
  return now !== undefined && now.type !== wanted?.type;
}

function isFolder({ wanted }: PathWrite): boolean {
  return wanted?.type === "directory";
}

/** Both names of a file may have been merged otherwise. */
function isSameFile(one: Pick<PathWrite, "wanted" | "content">, other: Pick<PathWrite, "wanted" | "content">): boolean {
  const [a, b] = [one.wanted, other.wanted];
  if (!a || !b || a.mode !== b.mode || a.uid !== b.uid || a.gid !== b.gid || !hasSameAttributes(a, b)) return false;
  return one.content === undefined || other.content === undefined ? one.content === other.content : one.content.equals(other.content);
}

function byKey([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
