import { release } from "node:os";
import { join } from "node:path";
import type { RuntimeOptions } from "../contract/runtime.ts";
import type { Limits } from "../contract/sandbox-spec.ts";
import { BtrfsPool, poolOf } from "./btrfs-pool.ts";

const KINDS = ["home", "tmpfs", "btrfs"] as const;

export type StorageKind = (typeof KINDS)[number];

export function parseKind(text: string | undefined): StorageKind | undefined {
  return KINDS.find((kind) => kind === text);
}

/** Where sandboxes keep what they write. */
export interface Storage {
  /** The kind that this host has for what is larger than memory. A pool that is there counts until it cannot be mounted. */
  readonly kind: StorageKind;
  readonly detail: string;
  readonly pool: BtrfsPool;
  /**
   * A sandbox whose disk fits in its memory gets memory: its writes count there, and it is made and gone faster. Not if its files are to be
   * kept: on a disk they take no memory, and survive a reboot. A pool is mounted by this, not before.
   */
  choose(limits: Limits, wishes?: Pick<Choice, "isKept">): Promise<StorageKind>;
  /** The folder or subvolume of one sandbox, which the jail makes and removes. */
  layers(kind: StorageKind, id: string, folder: string): string;
  /**
   * Makes what a sandbox wrote reachable. False: it is gone, with all that was stored there. Rejects with `RUNTIME_UNAVAILABLE` when it
   * lies in a pool that cannot be mounted.
   */
  reach(kind: StorageKind): Promise<boolean>;
}

const DETAILS: Readonly<Record<StorageKind, string>> = {
  btrfs: "a btrfs pool with a quota for each sandbox",
  tmpfs: "memory of a fixed size, counted as the sandbox's memory",
  home: "the home's own file system, without a limit",
};

/** The best that this host has: a btrfs pool (root), else memory, else the home, unless the configuration names one. */
export async function openStorage(options: Pick<RuntimeOptions, "storage" | "home" | "binary">, isRoot: boolean): Promise<Storage> {
  const inMemory = options.storage === "tmpfs" || memoryHoldsLayers();
  const [pool, without] = [new BtrfsPool(options), options.storage === "home" || !inMemory ? "home" : "tmpfs"] as const;
  /* One that is there is mounted when it is needed: most commands do not. */
  const first = wantsPool(options, isRoot) && (pool.exists() || (await canOpen(pool, options)));
  let kind: StorageKind = first ? "btrfs" : without;
  return {
    get kind() {
      return kind;
    },
    get detail() {
      return DETAILS[kind];
    },
    pool,
    async choose(limits, wishes) {
      const best = kindFor(limits, { kind, storage: options.storage, inMemory, ...wishes });
      if (best !== "btrfs" || (await canOpen(pool, options))) return best;
      return (kind = without);
    },
    layers: (one, id, folder) => (one === "btrfs" ? join(poolOf(options.home), id) : join(folder, "layers")),
    reach: async (one) => one !== "btrfs" || pool.reopen(),
  };
}

interface Choice extends Pick<RuntimeOptions, "storage"> {
  readonly kind: StorageKind;
  readonly inMemory: boolean;
  /** The sandbox is stopped or paused at its deadline. */
  readonly isKept?: boolean;
}

export function kindFor(limits: Limits, { kind, storage, inMemory, isKept = false }: Choice): StorageKind {
  return kind === "btrfs" && storage === "auto" && inMemory && !isKept && fitsInMemory(limits) ? "tmpfs" : kind;
}

function wantsPool({ storage }: Pick<RuntimeOptions, "storage">, isRoot: boolean): boolean {
  return storage === "btrfs" || (storage === "auto" && isRoot);
}

/** Somebody who asked for a pool by name hears what stands in its way. */
async function canOpen(pool: BtrfsPool, { storage }: Pick<RuntimeOptions, "storage">): Promise<boolean> {
  try {
    await pool.open();
    return true;
  } catch (cause) {
    if (storage === "btrfs") throw cause;
    return false;
  }
}

/** An overlay marks replaced folders with extended attributes of users, which tmpfs keeps since Linux 6.6. */
export function memoryHoldsLayers(kernel = release()): boolean {
  const [major = 0, minor = 0] = kernel.split(".").map(Number.parseFloat);
  return major > 6 || (major === 6 && minor >= 6);
}

function fitsInMemory({ diskBytes, memoryBytes }: Limits): boolean {
  return diskBytes !== undefined && memoryBytes !== undefined && diskBytes <= memoryBytes;
}
