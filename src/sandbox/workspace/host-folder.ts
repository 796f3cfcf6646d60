import type { BigIntStats } from "node:fs";
import { constants } from "node:fs";
import { chmod, lchown, link, lstat, lutimes, mkdir, open, opendir, readlink, rename, rmdir, symlink, unlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { BelljarError } from "../../errors.ts";
import { errnoOf, fileError, ifPresent } from "../../files/file-error.ts";
import type { Entry, HostEntry } from "./entry.ts";
import { assertRelativePath, fromHost, showPath } from "./entry.ts";
import { walkHostFolder } from "./walk-host-folder.ts";
import type { WalkOptions } from "./walk-host-folder.ts";

const SLASH = Buffer.from("/");
const IS_LINUX = process.platform === "linux";
/** Opens a place without any right to what lies there; Node has no name for it. */
const O_PATH = 0o10_000_000;
const HELD = IS_LINUX ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * A folder of the host in which names are used that a sandbox chose. Every path is relative and checked, every folder
 * above it must be a real one, and the last part is never followed: nothing outside is read or written through it.
 */
export class HostFolder {
  readonly root: string;
  readonly #root: Buffer;

  constructor(root: string) {
    this.root = root;
    this.#root = Buffer.from(root);
  }

  /** Undefined when it is not there. */
  async stat(path: Buffer): Promise<HostEntry | undefined> {
    if (path.length === 0) {
      await using folder = await this.#openRoot();
      return fromHost(await folder.stat({ bigint: true }));
    }
    await using folder = await this.#openParent(path);
    return folder && (await this.#entryAt(this.#placeIn(folder, path), path));
  }

  /** All that the host tells of it, with a link's text. Undefined when it is not there. */
  async details(path: Buffer): Promise<{ readonly stats: BigIntStats; readonly target?: Buffer } | undefined> {
    if (path.length === 0) {
      await using root = await this.#openRoot();
      return { stats: await root.stat({ bigint: true }) };
    }
    await using folder = await this.#openParent(path);
    return folder && (await this.#detailsAt(this.#placeIn(folder, path), path));
  }

  /** What lies in a folder, in no order. Undefined when that is no folder. Throws `FILE_TOO_LARGE` past `most`. */
  async names(path: Buffer, most: number): Promise<readonly Buffer[] | undefined> {
    await using parent = path.length === 0 ? undefined : await this.#openParent(path);
    if (path.length > 0 && !parent) return undefined;
    await using folder = parent ? await this.#enterBeside(parent, path) : await this.#openRoot();
    return folder && (await this.#named(path, namesIn(folder, most)));
  }

  /** Everything below, by key; links are not followed. Throws `FILE_TOO_LARGE` past `maxEntries`. */
  async walk(options: WalkOptions): Promise<Map<string, HostEntry>> {
    const root = await this.#openRoot();
    try {
      return await walkHostFolder(root.fd, { path: this.root, ...options });
    } finally {
      await root.close();
    }
  }

  /** The caller closes it. */
  openFile(path: Buffer): Promise<FileHandle> {
    return this.#at(path, (place) => open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
  }

  /** A new file that only its owner can open. The caller closes it. */
  createFile(path: Buffer): Promise<FileHandle> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    return this.#at(path, (place) => open(place, flags, 0o600));
  }

  /** Only its owner may enter it until `setMode`. */
  makeDirectory(path: Buffer): Promise<void> {
    return this.#at(path, (place) => mkdir(place, { mode: 0o700 }));
  }

  makeLink(path: Buffer, target: Buffer): Promise<void> {
    return this.#at(path, (place) => symlink(target, place));
  }

  rename(from: Buffer, to: Buffer): Promise<void> {
    return this.#at(from, (source) => this.#at(to, (target) => rename(source, target)));
  }

  /**
   * Gives a file or link that lies at `from` its place at `to`, where nothing may lie: `FILE_EXISTS`. So nothing is ever overwritten by it.
   * Where the file system has no hard links, somebody who is quicker by microseconds is overwritten.
   */
  async place(from: Buffer, to: Buffer): Promise<void> {
    try {
      await this.#at(from, (source) => this.#at(to, (target) => link(source, target)));
    } catch (cause) {
      if (!hasNoHardLinks(cause)) throw cause;
      if (await this.stat(to)) throw new BelljarError("FILE_EXISTS", `${this.root}/${showPath(to)} exists already`, { cause });
      return this.rename(from, to);
    }
    await this.remove(from);
  }

  /** To a path of the host's. False when that is on another file system. */
  moveOut(from: Buffer, to: string): Promise<boolean> {
    return this.#at(from, (place) => isMoved(rename(place, to)));
  }

  /** The way back. */
  moveIn(from: string, to: Buffer): Promise<boolean> {
    return this.#at(to, (place) => isMoved(rename(from, place)));
  }

  /** A file, a link or an empty folder; one that is gone already, alone or with the folder above it, is no error. */
  async remove(path: Buffer): Promise<void> {
    await using folder = await this.#openParent(path);
    if (!folder) return;
    const place = this.#placeIn(folder, path);
    const found = await ifPresent(showPath(path), lstat(place));
    if (found) await ifPresent(showPath(path), found.isDirectory() ? rmdir(place) : unlink(place));
  }

  /** False when something lies in it. Rejects when it is no folder. */
  removeFolder(path: Buffer): Promise<boolean> {
    return this.#at(path, async (place) => {
      try {
        await rmdir(place);
        return true;
      } catch (cause) {
        if (["ENOTEMPTY", "EEXIST"].includes(errnoOf(cause) ?? "")) return false;
        throw cause;
      }
    });
  }

  /** Not for links, which have no mode. */
  setMode(path: Buffer, mode: number): Promise<void> {
    return this.#at(path, async (place) => {
      await using file = await open(place, HELD | constants.O_NOFOLLOW);
      const stats = await file.stat();
      if (!stats.isFile() && !stats.isDirectory()) return;
      await (IS_LINUX ? chmod(`/proc/self/fd/${file.fd}`, mode & 0o777) : file.chmod(mode & 0o777));
    });
  }

  setTime(path: Buffer, { mtimeNs }: Entry): Promise<void> {
    const seconds = Number(mtimeNs / 1_000n) / 1_000_000;
    return this.#at(path, (place) => lutimes(place, seconds, seconds));
  }

  setOwner(path: Buffer, { uid, gid }: Pick<HostEntry, "uid" | "gid">): Promise<void> {
    return this.#at(path, (place) => lchown(place, uid, gid));
  }

  /**
   * Hands `work` the name in its folder, which is held open: a folder that somebody replaces by a link meanwhile (a sandbox that
   * has this one as a writable workspace) leads nowhere else. Without /proc the path itself serves.
   */
  async #at<T>(path: Buffer, work: (place: Buffer) => Promise<T>): Promise<T> {
    await using folder = await this.#openParent(path);
    if (!folder) throw notAFolder(path);
    return await this.#named(path, work(this.#placeIn(folder, path)));
  }

  /** Undefined when something above is missing, or is no real folder. */
  async #openParent(path: Buffer): Promise<FileHandle | undefined> {
    assertRelativePath(path);
    let folder: FileHandle | undefined = await this.#openRoot();
    for (let end = path.indexOf("/"); folder && end >= 0; end = path.indexOf("/", end + 1))
      folder = await this.#enter(folder, path.subarray(0, end));
    return folder;
  }

  /** Its path was a real one when it was chosen. A link in it now is somebody else's, as of a sandbox that may write the folder above. */
  async #openRoot(): Promise<FileHandle> {
    const folder = await this.#named(Buffer.alloc(0), open(this.#root, HELD | constants.O_DIRECTORY));
    const real = IS_LINUX ? await readlink(`/proc/self/fd/${folder.fd}`, { encoding: "buffer" }) : this.#root;
    if (real.equals(this.#root)) return folder;
    await folder.close();
    throw new BelljarError("PATH_INVALID", `${this.root} is refused: it leads to ${showPath(real)} now. Put the folder back where it was`);
  }

  /** Closes the folder that it leaves. */
  async #enter(folder: FileHandle, path: Buffer): Promise<FileHandle | undefined> {
    try {
      return await this.#enterBeside(folder, path);
    } finally {
      await folder.close();
    }
  }

  async #enterBeside(folder: FileHandle, path: Buffer): Promise<FileHandle | undefined> {
    try {
      return await open(this.#placeIn(folder, path), HELD | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    } catch (cause) {
      if (["ENOENT", "ENOTDIR", "ELOOP"].includes(errnoOf(cause) ?? "")) return undefined;
      throw fileError(showPath(path), cause);
    }
  }

  #placeIn(folder: FileHandle, path: Buffer): Buffer {
    const name = path.subarray(path.lastIndexOf("/") + 1);
    return IS_LINUX ? Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), name]) : this.#full(path);
  }

  #full(path: Buffer): Buffer {
    return Buffer.concat([this.#root, SLASH, path]);
  }

  async #entryAt(place: Buffer, path: Buffer): Promise<HostEntry | undefined> {
    const found = await this.#detailsAt(place, path);
    return found && fromHost(found.stats, found.target);
  }

  async #detailsAt(place: Buffer, path: Buffer): Promise<{ readonly stats: BigIntStats; readonly target?: Buffer } | undefined> {
    const stats = await ifPresent(showPath(path), lstat(place, { bigint: true }));
    if (!stats?.isSymbolicLink()) return stats && { stats };
    try {
      return { stats, target: await readlink(place, { encoding: "buffer" }) };
    } catch (cause) {
      if (errnoOf(cause) !== "EINVAL") throw fileError(showPath(path), cause);
      throw new BelljarError("PATH_INVALID", `${showPath(path)} changes while it is read: stop what writes it and try again`, { cause });
    }
  }

  async #named<T>(path: Buffer, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      if (cause instanceof BelljarError) throw cause;
      const shown = `${this.root}/${showPath(path)}`;
      const code = errnoOf(cause);
      if (code === "EEXIST") throw new BelljarError("FILE_EXISTS", `${shown} exists already`, { cause });
      if (code === "ENOENT") throw new BelljarError("FILE_NOT_FOUND", `${shown} is not there`, { cause });
      if (code === "EACCES" || code === "EPERM") throw new BelljarError("FILE_DENIED", `This user may not use ${shown}`, { cause });
      throw fileError(shown, cause);
    }
  }
}

async function namesIn(folder: FileHandle, most: number): Promise<readonly Buffer[]> {
  const names: Buffer[] = [];
  // Node's types say that a folder's names are texts, whatever the encoding.
  const place = `/proc/self/fd/${folder.fd}`;
  const list = await opendir(place, { encoding: "latin1" });
  for await (const { name } of list) {
    if (names.length >= most) throw new BelljarError("FILE_TOO_LARGE", `A folder has more than ${most} entries`);
    names.push(Buffer.from(name, "latin1"));
  }
  return names;
}

async function isMoved(move: Promise<void>): Promise<boolean> {
  try {
    await move;
    return true;
  } catch (cause) {
    if (errnoOf(cause) === "EXDEV") return false;
    throw cause;
  }
}

function hasNoHardLinks(cause: unknown): boolean {
  return cause instanceof BelljarError && ["EPERM", "EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EMLINK"].includes(errnoOf(cause.cause) ?? "");
}

function notAFolder(path: Buffer): BelljarError {
  return new BelljarError("PATH_INVALID", `${showPath(path)} is refused: it, or what lies above it, is not a folder on the host`);
}
