import { join } from "node:path";
import type { Limits } from "../runtime.ts";
import { openPool } from "./btrfs-pool.ts";
import type { RuntimeOptions } from "../registry.ts";

/** Where sandboxes keep what they write. */
export interface Storage {
  readonly kind: "home" | "tmpfs" | "btrfs";
  readonly enforcesDisk: boolean;
  /** The folder or subvolume of one sandbox; the jail makes and removes it. */
  layers(id: string, folder: string): string;
  readonly detail: string;
}

const TMPFS: Storage = {
  kind: "tmpfs",
  enforcesDisk: true,
  layers: (_id, folder) => join(folder, "layers"),
  detail: "memory of a fixed size, counted as the sandbox's memory",
};

const HOME: Storage = {
  kind: "home",
  enforcesDisk: false,
  layers: (_id, folder) => join(folder, "layers"),
  detail: "the home's own file system, without a limit",
};

/** The best that this host has: a btrfs pool (root), else memory, unless the configuration names one. */
export async function openStorage({ storage, home }: Pick<RuntimeOptions, "storage" | "home">, isRoot: boolean): Promise<Storage> {
  if (storage === "home") return HOME;
  if (storage === "tmpfs") return TMPFS;
  const pool = isRoot ? await openPool(home, storage === "btrfs") : undefined;
  if (!pool) return TMPFS;
  return { kind: "btrfs", enforcesDisk: true, layers: (id) => join(pool, id), detail: "a btrfs pool with a quota a sandbox" };
}

/** Limits that hold whatever the control groups do. */
export function alwaysEnforced(storage: Storage): readonly (keyof Limits)[] {
  return storage.enforcesDisk ? ["diskBytes", "openFiles", "pids"] : ["openFiles", "pids"];
}
