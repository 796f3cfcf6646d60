import { constants } from "node:fs";
import { chmod, lchown, lstat, lutimes, mkdir, open, readdir, readlink, rename, rmdir, symlink, unlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { BelljarError } from "../../errors.ts";
import { errnoOf, homeError, ifPresent } from "../home-error.ts";
import { mapLimit } from "../map-limit.ts";
import type { Entry, HostEntry } from "./entry.ts";
import { isStagingName } from "./staging-name.ts";
import { assertRelativePath, fromHost, fromKey, parentKey, showPath, toKey } from "./entry.ts";

const PARALLEL = 16;
const SLASH = Buffer.from("/");

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
    const full = this.#full(path);
    const stats = await ifPresent(showPath(full), lstat(full, { bigint: true }));
    if (!stats) return undefined;
    return fromHost(stats, stats.isSymbolicLink() ? await readlink(full, { encoding: "buffer" }) : undefined);
  }

  /** Everything below, by key; links are not followed. Throws `FILE_TOO_LARGE` past `maxEntries`. */
  async walk(maxEntries: number): Promise<Map<string, HostEntry>> {
    const entries = new Map<string, HostEntry>();
    let folders = [""];
    while (folders.length > 0) {
      const found = await mapLimit(folders, PARALLEL, (folder) => this.#children(folder));
      for (const [key, entry] of found.flat()) entries.set(key, entry);
      if (entries.size > maxEntries)
        throw new BelljarError("FILE_TOO_LARGE", `${this.root} holds more than ${maxEntries} entries: too many to compare`);
      folders = found.flat().flatMap(([key, entry]) => (entry.type === "directory" ? [key] : []));
    }
    return entries;
  }

  /** The caller closes it. */
  async openFile(path: Buffer): Promise<FileHandle> {
    await this.#assertParents(path);
    return this.#named(path, open(this.#full(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK));
  }

  /** A new file that only its owner can open. The caller closes it. */
  async createFile(path: Buffer): Promise<FileHandle> {
    await this.#assertParents(path);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    return this.#named(path, open(this.#full(path), flags, 0o600));
  }

  /** Only its owner may enter it until `setMode`. */
  async makeDirectory(path: Buffer): Promise<void> {
    await this.#assertParents(path);
    await this.#named(path, mkdir(this.#full(path), { mode: 0o700 }));
  }

  async makeLink(path: Buffer, target: Buffer): Promise<void> {
    await this.#assertParents(path);
    await this.#named(path, symlink(target, this.#full(path)));
  }

  async rename(from: Buffer, to: Buffer): Promise<void> {
    await this.#assertParents(from);
    await this.#assertParents(to);
    await this.#named(to, rename(this.#full(from), this.#full(to)));
  }

  /** A file, a link or an empty folder; one that is gone already is no error. */
  async remove(path: Buffer): Promise<void> {
    const found = await this.stat(path);
    if (!found) return;
    await this.#assertParents(path);
    await ifPresent(showPath(path), found.type === "directory" ? rmdir(this.#full(path)) : unlink(this.#full(path)));
  }

  /** Not for links, which have no mode. */
  async setMode(path: Buffer, mode: number): Promise<void> {
    await this.#assertParents(path);
    const found = await this.stat(path);
    if (found?.type === "file" || found?.type === "directory") await this.#named(path, chmod(this.#full(path), mode & 0o777));
  }

  async setTime(path: Buffer, { mtimeNs }: Entry): Promise<void> {
    await this.#assertParents(path);
    const seconds = Number(mtimeNs / 1_000_000n) / 1000;
    await this.#named(path, lutimes(this.#full(path), seconds, seconds));
  }

  async setOwner(path: Buffer, { uid, gid }: Pick<HostEntry, "uid" | "gid">): Promise<void> {
    await this.#assertParents(path);
    await this.#named(path, lchown(this.#full(path), uid, gid));
  }

  #full(path: Buffer): Buffer {
    if (path.length === 0) return this.#root;
    assertRelativePath(path);
    return Buffer.concat([this.#root, SLASH, path]);
  }

  async #children(folder: string): Promise<readonly (readonly [string, HostEntry])[]> {
    const path = fromKey(folder);
    const names = await this.#named(path, readdir(this.#full(path), { encoding: "buffer" }));
    const keys = names.map(toKey).flatMap((name) => (folder === "" ? (isStagingName(name) ? [] : [name]) : [`${folder}/${name}`]));
    const entries = await mapLimit(keys, PARALLEL, async (key) => [key, await this.stat(fromKey(key))] as const);
    return entries.flatMap(([key, entry]) => (entry ? [[key, entry] as const] : []));
  }

  async #assertParents(path: Buffer): Promise<void> {
    for (let key = parentKey(toKey(path)); key !== ""; key = parentKey(key)) {
      const parent = fromKey(key);
      const found = await this.stat(parent);
      if (found?.type !== "directory")
        throw new BelljarError("PATH_INVALID", `${showPath(path)} is refused: ${showPath(parent)} is not a folder on the host`);
    }
  }

  async #named<T>(path: Buffer, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (cause) {
      const shown = `${this.root}/${showPath(path)}`;
      const code = errnoOf(cause);
      if (code === "EEXIST") throw new BelljarError("FILE_EXISTS", `${shown} exists already`, { cause });
      if (code === "ENOENT") throw new BelljarError("FILE_NOT_FOUND", `${shown} is not there`, { cause });
      if (code === "EACCES" || code === "EPERM") throw new BelljarError("FILE_DENIED", `This user may not use ${shown}`, { cause });
      throw homeError(shown, cause);
    }
  }
}
