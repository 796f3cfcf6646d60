import { closeSync, constants, lstatSync, openSync, readdirSync, readlinkSync } from "node:fs";
import { Slices } from "../../async/slices.ts";
import { BelljarError } from "../../errors.ts";
import { errnoOf, fileError } from "../../files/file-error.ts";
import type { HostEntry } from "./entry.ts";
import { fromHost, fromKey, showPath, toKey } from "./entry.ts";
import { isStagingName } from "./staging-name.ts";

const IS_LINUX = process.platform === "linux";
/** Opens a place without any right to what lies there; Node has no name for it. */
const O_PATH = 0o10_000_000;
const HELD = (IS_LINUX ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK) | constants.O_DIRECTORY | constants.O_NOFOLLOW;

export interface WalkOptions {
  readonly maxEntries: number;
  /** An entry that is left out, with all that lies below it. */
  readonly skip?: (key: string, entry: HostEntry) => boolean;
  /** A folder that is not entered. */
  readonly isClosed?: (key: string) => boolean;
  readonly signal?: AbortSignal;
}

interface Walk extends WalkOptions {
  readonly root: number;
  /** For messages, and for systems without /proc. */
  readonly path: string;
}

/**
 * Lists a folder that is held open. Each folder is entered from the one above it, link by no link, so that one that is swapped meanwhile
 * leads nowhere else. The calls are synchronous, for one costs a tenth of what a turn of the event loop does; they come in slices.
 */
export async function walkHostFolder(root: number, options: WalkOptions & { readonly path: string }): Promise<Map<string, HostEntry>> {
  const walk = { ...options, root };
  const entries = new Map<string, HostEntry>();
  const folders = [""];
  const slices = new Slices(walk.signal);
  // A folder is added while the list is gone through.
  for (const folder of folders) {
    for (const [key, entry] of children(walk, folder)) {
      await slices.next(); // also for what is left out
      if (walk.skip?.(key, entry)) continue;
      entries.set(key, entry);
      if (entries.size > walk.maxEntries)
        throw new BelljarError("FILE_TOO_LARGE", `${walk.path} holds more than ${walk.maxEntries} entries: too many to compare`);
      if (entry.type === "directory" && !walk.isClosed?.(key)) folders.push(key);
    }
  }
  return entries;
}

function* children(walk: Walk, key: string): Generator<readonly [string, HostEntry]> {
  const folder = enter(walk, key);
  try {
    const names = named(walk, key, () => readdirSync(placeIn(walk, folder, `${key}/.`), { encoding: "buffer" }));
    const kept = key === "" ? names.filter((name) => !isStagingName(toKey(name))) : names;
    for (const name of kept) {
      const below = key === "" ? toKey(name) : `${key}/${toKey(name)}`;
      const entry = entryAt(walk, folder, below);
      if (entry) yield [below, entry];
    }
  } finally {
    if (folder !== walk.root) closeSync(folder);
  }
}

/** The caller closes it, unless it is the root. */
function enter(walk: Walk, key: string): number {
  let folder = walk.root;
  if (key === "") return folder;
  for (let end = key.indexOf("/"); ; end = key.indexOf("/", end + 1)) {
    const part = end < 0 ? key : key.slice(0, end);
    const above = folder;
    try {
      folder = openSync(placeIn(walk, above, part), HELD);
    } catch (cause) {
      if (!["ENOENT", "ENOTDIR", "ELOOP"].includes(errnoOf(cause) ?? "")) throw denied(walk, part, cause);
      throw changes(part, cause);
    } finally {
      if (above !== walk.root) closeSync(above);
    }
    if (end < 0) return folder;
  }
}

function placeIn({ path }: Walk, folder: number, key: string): Buffer {
  return fromKey(IS_LINUX ? `/proc/self/fd/${folder}/${key.slice(key.lastIndexOf("/") + 1)}` : `${toKey(Buffer.from(path))}/${key}`);
}

function entryAt(walk: Walk, folder: number, key: string): HostEntry | undefined {
  const place = placeIn(walk, folder, key);
  const stats = named(walk, key, () => lstatSync(place, { bigint: true, throwIfNoEntry: false }));
  if (!stats?.isSymbolicLink()) return stats && fromHost(stats);
  try {
    return fromHost(stats, readlinkSync(place, { encoding: "buffer" }));
  } catch (cause) {
    if (errnoOf(cause) === "EINVAL" || errnoOf(cause) === "ENOENT") throw changes(key, cause);
    throw denied(walk, key, cause);
  }
}

function named<T>(walk: Walk, key: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw denied(walk, key, cause);
  }
}

function changes(key: string, cause: unknown): BelljarError {
  const shown = showPath(fromKey(key));
  return new BelljarError("PATH_INVALID", `${shown} changes while it is read: stop what writes it and try again`, { cause });
}

function denied({ path }: Walk, key: string, cause: unknown): BelljarError {
  const shown = `${path}/${showPath(fromKey(key))}`;
  const code = errnoOf(cause);
  if (code === "EACCES" || code === "EPERM") return new BelljarError("FILE_DENIED", `This user may not use ${shown}`, { cause });
  return fileError(shown, cause);
}
