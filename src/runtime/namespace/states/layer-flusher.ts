import { mapLimit } from "../../../async/map-limit.ts";
import { BelljarError } from "../../../errors.ts";
import type { Run } from "../../contract/run.ts";
import type { JailPaths } from "../jail-spec.ts";
import type { LayerFolders } from "./layer-folders.ts";
import type { LayerJobs } from "./layer-jobs.ts";
import { flushStack, readStack } from "./stack-file.ts";

const PARALLEL = 8;

export interface LayerFlusherOptions {
  readonly jobs: Pick<LayerJobs, "run">;
  /** Of the machine. */
  readonly boot: string;
  readonly folders: LayerFolders;
}

/** Brings layers to the disk, and tells which of them a power cut has taken. Each flush takes all frozen layers of the home with it. */
export class LayerFlusher {
  readonly #options: LayerFlusherOptions;
  #isWaiting = false;
  /** Somebody asked for a flush while another one began. */
  #isWanted = false;

  constructor(options: LayerFlusherOptions) {
    this.#options = options;
  }

  /** In the background, also when this process ends. A flush that has not begun yet takes what is frozen meanwhile with it. */
  soon(place: JailPaths): void {
    if (this.#isWaiting) {
      this.#isWanted = true;
      return;
    }
    this.#isWaiting = true;
    const { jobs, folders, boot } = this.#options;
    const begun = jobs.run({ kind: "flush", place, layer: { folder: folders.all, files: folders.all }, boot, isDetached: true });
    // What was not flushed has no mark, and may be lost.
    void begun.catch(() => undefined).finally(() => this.#begun(place));
  }

  /** It may have looked at the layers before the last of them was finished. */
  #begun(place: JailPaths): void {
    this.#isWaiting = false;
    if (!this.#isWanted) return;
    this.#isWanted = false;
    this.soon(place);
  }

  /** A snapshot on the pool is on the disk when it is made. */
  async frozen(place: JailPaths, layers: readonly string[], signal: AbortSignal): Promise<void> {
    const { folders } = this.#options;
    const facts = await mapLimit(layers, PARALLEL, (id) => folders.facts(id));
    if (facts.some(({ boot }) => boot !== undefined)) await this.#now(place, folders.all, signal);
    await folders.flush(layers, this.#options.boot);
  }

  /** What a stopped sandbox wrote, and what it lies on. */
  async stopped(place: JailPaths, run: Run): Promise<void> {
    const { below, origin = [], rewindsTo = [] } = await readStack(run);
    await this.#now(place, place.storage === "btrfs" ? place.layers : run.folder);
    const { folders, boot } = this.#options;
    await folders.flush([...below, ...[origin].flat(), ...rewindsTo], boot);
    await flushStack(run);
  }

  /** Whether all of these are there, and none in part. */
  async areWhole(layers: readonly string[]): Promise<boolean> {
    const { boot, folders } = this.#options;
    const made = layers[0] === undefined ? undefined : (await folders.find(layers[0]))?.boot;
    const isWhole = async (id: string): Promise<boolean> => (await folders.isWhole(id, boot)) || this.#wasFoundSo(id, made);
    return (await mapLimit(layers, PARALLEL, isWhole)).every(Boolean);
  }

  /** A state that was made in a later boot than a layer below holds that as the power cut before has left it. */
  async #wasFoundSo(id: string, made: string | undefined): Promise<boolean> {
    const boot = (await this.#options.folders.find(id))?.boot;
    return made !== undefined && boot !== undefined && boot !== made;
  }

  /** Rejects with `SANDBOX_FILES_LOST`. */
  async assertWhole(layers: readonly string[]): Promise<void> {
    if (await this.areWhole(layers)) return;
    throw new BelljarError("SANDBOX_FILES_LOST", "A power cut has taken the frozen state, or a part of it: use another one");
  }

  async #now(place: JailPaths, files: string, signal?: AbortSignal): Promise<void> {
    const { jobs, folders, boot } = this.#options;
    await jobs.run({ kind: "flush", place, layer: { folder: folders.all, files }, boot }, signal);
  }
}
