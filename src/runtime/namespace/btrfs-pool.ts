import { execFile } from "node:child_process";
import { existsSync, mkdirSync, statfsSync, statSync } from "node:fs";
import { link, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { BelljarError } from "../../errors.ts";

const run = promisify(execFile);
const MKFS = "/usr/sbin/mkfs.btrfs";
const BTRFS_MAGIC = 0x91_23_68_3e;
/** The file is sparse: it takes what sandboxes write, and never more than this part of the disk's free room. */
const PART_OF_FREE = 0.8;
const MIN_BYTES = 1024 ** 3;
const MAX_BYTES = 1024 ** 4;

export interface PoolPlace {
  readonly home: string;
  readonly binary: string;
}

export interface PoolOptions extends PoolPlace {
  /** Somebody asked for it by name: what stands in the way is an error. */
  readonly required: boolean;
}

/** Where the home's pool is mounted, if it has one. */
export function poolOf(home: string): string {
  return join(home, "pool");
}

/** Mounts the pool that sandboxes of this home have written to. False: there is none. Rejects with `RUNTIME_UNAVAILABLE`. */
export async function reopenPool(place: PoolPlace): Promise<boolean> {
  if (!existsSync(imageOf(place.home))) return false;
  await openPool({ ...place, required: true });
  return true;
}

/** The folder of the home's storage pool, made and mounted on first use; undefined where this host cannot have one. */
export async function openPool({ home, binary, required }: PoolOptions): Promise<string | undefined> {
  const folder = poolOf(home);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (isPool(folder)) return folder;
  try {
    await makeImage(imageOf(home), home);
    await run(binary, ["pool", imageOf(home), folder], { env: {} });
    return folder;
  } catch (cause) {
    if (!required) return undefined;
    throw new BelljarError(
      "RUNTIME_UNAVAILABLE",
      "The btrfs storage pool cannot be made or mounted. Install btrfs-progs, and allow loop devices; or use storage auto",
      { cause },
    );
  }
}

function imageOf(home: string): string {
  return join(home, "pool.img");
}

/** A home that lies on btrfs itself has that file system in its folders too, with no quotas of ours. */
function isPool(folder: string): boolean {
  return statfsSync(folder).type === BTRFS_MAGIC && statSync(folder).dev !== statSync(join(folder, "..")).dev;
}

/** Several processes may make one at once: the first to be linked stays. */
async function makeImage(image: string, home: string): Promise<void> {
  if (existsSync(image)) return;
  const { bavail, bsize } = statfsSync(home);
  const bytes = Math.floor(Math.min(MAX_BYTES, bavail * bsize * PART_OF_FREE));
  if (bytes < MIN_BYTES) throw new BelljarError("DISK_FULL", `A storage pool needs 1 GiB free below ${home}`);
  const fresh = `${image}.${process.pid}`;
  try {
    await using file = await open(fresh, "wx", 0o600);
    await file.truncate(bytes);
    await run(MKFS, ["--quiet", "--metadata", "single", "--nodiscard", fresh], { env: {} });
    await link(fresh, image).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== "EEXIST") throw cause;
    });
  } finally {
    await rm(fresh, { force: true });
  }
}
