import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ifPresent } from "../../../files/file-error.ts";
import type { JailPaths } from "../jail-spec.ts";
import type { LayerJobs } from "./layer-jobs.ts";

/** A sandbox's own, and what a job has put beside it. */
const SUBVOLUME = /^([a-z0-9]{20})(?:\.[a-z]+)?$/;

interface StrayOptions {
  readonly jobs: LayerJobs;
  /** Where the home's pool is mounted. */
  readonly pool: string;
  /** Of a job that works on no sandbox. */
  readonly place: (id: string) => JailPaths;
}

/**
 * Removes what sandboxes wrote that the home does not know: the pool is on the disk sooner than the home's folders, so a power cut may leave it.
 * A sandbox has its folder before its subvolume, and longer.
 */
export async function removeStrays({ jobs, pool, place }: StrayOptions, isSandbox: (id: string) => Promise<boolean>): Promise<void> {
  for (const name of (await ifPresent(pool, readdir(pool))) ?? []) {
    const [, id] = SUBVOLUME.exec(name) ?? [];
    if (id !== undefined && !(await isSandbox(id)))
      await jobs.run({ kind: "remove", place: place(id), layer: { folder: pool, files: join(pool, name) } });
  }
}
