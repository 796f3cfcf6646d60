import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, statfsSync, statSync } from "node:fs";
import { link, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { BelljarError } from "../../errors.ts";
import type { PoolHoldings, StoragePool } from "../contract/runtime.ts";
import { type PoolWork, runPool } from "./pool-program.ts";
import { parseHoldings } from "./pool-holdings.ts";

const run = promisify(execFile);
const MKFS = "/usr/sbin/mkfs.btrfs";
const BTRFS_MAGIC = 0x91_23_68_3e;
/** The file is sparse: it takes what sandboxes write, and never more than this part of the disk's free room. */
const PART_OF_FREE = 0.8;
const MIN_BYTES = 1024 ** 3;
const MAX_BYTES = 1024 ** 4;
const BLOCK_BYTES = 512;

export interface PoolPlace {
  readonly home: string;
  readonly binary: string;
}

/** Where the home's pool is mounted, if it has one. */
export function poolOf(home: string): string {
  return join(home, "pool");
}

/**
 * The storage pool of a home, as this process uses it. While it has it open, a shared lock keeps the pool mounted. The kernel lets go of that
 * lock with this process, and the pool is unmounted when neither a process nor a sandbox in it has one.
 */
export class BtrfsPool implements StoragePool {
  readonly #place: PoolPlace;
  readonly #folder: string;
  readonly #image: string;
  #lock: number | undefined;
  #opening: Promise<void> | undefined;

  constructor(place: PoolPlace) {
    this.#place = place;
    this.#folder = poolOf(place.home);
    this.#image = join(place.home, "pool.img");
  }

  exists(): boolean {
    return existsSync(this.#image);
  }

  /** Mounts the pool that sandboxes of this home have written to. False: there is none. Rejects with `RUNTIME_UNAVAILABLE`. */
  async reopen(): Promise<boolean> {
    if (!this.exists()) return false;
    await this.open();
    return true;
  }

  /** Makes the pool on first use, and mounts it. Rejects with `RUNTIME_UNAVAILABLE` where this host cannot have one. */
  async open(): Promise<void> {
    if (this.#lock !== undefined && isMounted(this.#folder)) return;
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    await this.#opening;
  }

  async #open(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    try {
      await makeImage(this.#image, this.#place.home);
      this.#lock ??= openSync(`${this.#folder}.lock`, "a", 0o600);
      await this.#work("open", this.#lock);
    } catch (cause) {
      this.#letGo();
      throw new BelljarError(
        "RUNTIME_UNAVAILABLE",
        "The btrfs storage pool cannot be made or mounted. Install btrfs-progs, and allow loop devices; or use storage tmpfs or home",
        { cause },
      );
    }
  }

  async holds(): Promise<PoolHoldings | undefined> {
    if (!(await this.reopen())) return undefined;
    return parseHoldings(await this.#work("holds"), bytesOnDisk(this.#image));
  }

  async tend(): Promise<void> {
    if (this.#lock !== undefined) await this.#work("tend");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opening?.catch(() => undefined);
    this.#letGo();
  }

  #letGo(): void {
    if (this.#lock !== undefined) closeSync(this.#lock);
    this.#lock = undefined;
  }

  #work(work: PoolWork, lock?: number): Promise<string> {
    const { binary, home } = this.#place;
    return runPool(binary, [work, this.#image, this.#folder, String(roomFor(bytesOnDisk(this.#image), home))], lock);
  }
}

/** A home that lies on btrfs itself has that file system in its folders too, with no quotas of ours. */
function isMounted(folder: string): boolean {
  return statfsSync(folder).type === BTRFS_MAGIC && statSync(folder).dev !== statSync(join(folder, "..")).dev;
}

/** How large a pool that takes so much of the disk now should be: it follows the room that others leave. */
function roomFor(taken: number, home: string): number {
  const { bavail, bsize } = statfsSync(home);
  return Math.max(MIN_BYTES, Math.floor(Math.min(MAX_BYTES, taken + bavail * bsize * PART_OF_FREE)));
}

function bytesOnDisk(image: string): number {
  return statSync(image).blocks * BLOCK_BYTES;
}

/** Several processes may make one at once: the first to be linked stays. */
async function makeImage(image: string, home: string): Promise<void> {
  if (existsSync(image)) return;
  const { bavail, bsize } = statfsSync(home);
  if (bavail * bsize * PART_OF_FREE < MIN_BYTES) throw new BelljarError("DISK_FULL", `A storage pool needs 1 GiB free below ${home}`);
  const fresh = `${image}.${randomUUID()}`;
  try {
    await using file = await open(fresh, "wx", 0o600);
    await file.truncate(roomFor(0, home));
    await run(MKFS, ["--quiet", "--metadata", "single", "--nodiscard", fresh], { env: {} });
    await link(fresh, image).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== "EEXIST") throw cause;
    });
  } finally {
    await rm(fresh, { force: true });
  }
}
