import { mapLimit } from "../../../async/map-limit.ts";
import { BelljarError } from "../../../errors.ts";
import type { Run } from "../../runtime.ts";
import type { JailPaths } from "../jail-spec.ts";
import type { LayerFolders } from "./layer-folders.ts";
import type { LayerJobs } from "./layer-jobs.ts";
import { flushStack, readStack } from "./stack-file.ts";

const PARALLEL = 8;

export interface LayerFlusherOptions {
  readonly jobs: LayerJobs;
  /** Of the machine. */
  readonly boot: string;
  readonly folders: LayerFolders;
}

/** Brings layers to the disk, and tells which of them a power cut has taken. Each flush takes all frozen layers of the home with it. */
export class LayerFlusher {
  readonly #options: LayerFlusherOptions;
  #isWaiting = false;

  constructor(options: LayerFlusherOptions) {
    this.#options = options;
  }

  /** In the background, also when this process ends. A flush that has not begun yet takes what is frozen meanwhile with it. */
  soon(place: JailPaths): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const { jobs, folders } = this.#options;
    const begun = jobs.run({ kind: "flush", place, layer: { folder: folders.all, files: folders.all }, isDetached: true });
    // What was not flushed has no mark, and may be lost.
    void begun.catch(() => undefined).finally(() => (this.#isWaiting = false));
  }

  /** A snapshot on the pool is on the disk when it is made. */
  async frozen(place: JailPaths, layers: readonly string[], signal: AbortSignal): Promise<void> {
    const { folders } = this.#options;
    const facts = await mapLimit(layers, PARALLEL, (id) => folders.facts(id));
    if (facts.some(({ boot }) => boot !== undefined)) await this.#now(place, folders.all, signal);
    await folders.flush(layers);
  }

  /** What a stopped sandbox wrote, and what it lies on. */
  async stopped(place: JailPaths, run: Run): Promise<void> {
    const { below, origin = [], rewindsTo = [] } = await readStack(run);
    await this.#now(place, place.storage === "btrfs" ? place.layers : run.folder);
    await this.#options.folders.flush([...below, ...[origin].flat(), ...rewindsTo]);
    await flushStack(run);
  }

  /** Whether all of these are there, and none in part. */
  async areWhole(layers: readonly string[]): Promise<boolean> {
    const { boot, folders } = this.#options;
    return (await mapLimit(layers, PARALLEL, (id) => folders.isWhole(id, boot))).every(Boolean);
  }

  /** Rejects with `SANDBOX_FILES_LOST`. */
  async assertWhole(layers: readonly string[]): Promise<void> {
    if (await this.areWhole(layers)) return;
    throw new BelljarError("SANDBOX_FILES_LOST", "A power cut has taken the frozen state, or a part of it: use another one");
  }

  async #now(place: JailPaths, files: string, signal?: AbortSignal): Promise<void> {
    const { jobs, folders } = this.#options;
    await jobs.run({ kind: "flush", place, layer: { folder: folders.all, files } }, signal);
  }
}
