import { settleWithin } from "../../../async/settle-within.ts";
import { mapLimit } from "../../../async/map-limit.ts";
import type { MergedGaps } from "../../guest/keeper-client.ts";
import type { Run } from "../../contract/run.ts";
import type { JailPaths } from "../jail-spec.ts";
import { createLayerId, type LayerFacts, type LayerFolders, userOf } from "./layer-folders.ts";
import type { LayerJobs } from "./layer-jobs.ts";
import { gapsOf, IMAGE_TIER, overlaysOf, planMerge, tierAbove, tierOf } from "./merge-plan.ts";
import { readStack, writeStack } from "./stack-file.ts";

const PARALLEL = 8;
/** A checkpoint that cannot be a raise before layers are merged waits no longer for that. */
const WAIT_MS = 25_000;

export interface MergedLayersOptions {
  readonly jobs: Pick<LayerJobs, "run">;
  readonly folders: LayerFolders;
  readonly place: (run: Run) => JailPaths;
  readonly letGoSoon: (layers: readonly string[], user: string) => Promise<void>;
}

interface Work {
  readonly layer: string;
  readonly done: Promise<void>;
  readonly ends: AbortController;
}

/**
 * Keeps the stacks of raised layers low. In the background, several frozen layers become one that shows the same; the sandbox lies on that from
 * its next raise on, and lets go of the others, which stay as long as checkpoints use them. The stack names the layer before it is begun
 * (`merges`), so whoever looks at the stack next can remove what a process has left that died. Only who has the lock of the work on the
 * sandbox calls these methods; the work itself needs none, since frozen layers do not change.
 */
export class MergedLayers {
  readonly #options: MergedLayersOptions;
  /** Of this process, by the sandbox. */
  readonly #works = new Map<string, Work>();
  #hasBegun = false;

  constructor(options: MergedLayersOptions) {
    this.#options = options;
  }

  /**
   * After a raise. Begins nothing after the first one of this process: a program that takes one checkpoint and ends would only leave work
   * that is cut off.
   */
  async raised(run: Run): Promise<void> {
    if (this.#hasBegun) await this.#begin(run, { isFull: false });
    this.#hasBegun = true;
  }

  /** The stack is as high as it may be: whoever waits would else wait for a copy of everything. */
  async waitFor(run: Run, signal: AbortSignal): Promise<void> {
    await this.#begin(run, { isFull: true });
    const work = this.#works.get(run.id);
    if (work) await settleWithin(work.done, { timeoutMs: WAIT_MS, signal });
  }

  /** What the next raise can take. */
  async ready(run: Run): Promise<MergedGaps | undefined> {
    const { below, merges } = await readStack(run);
    const { folders } = this.#options;
    if (!merges || !(await folders.find(merges.layer))) return undefined;
    return gapsOf(await mapLimit(below, PARALLEL, (id) => folders.facts(id)), merges);
  }

  /** The stack, which is settled, is about to become another one: what is in the making stands for nothing then. Doing it again is no error. */
  async drop(run: Run): Promise<void> {
    const { merges, ...stack } = await readStack(run);
    if (!merges) return;
    await this.end(run);
    await this.#options.letGoSoon([merges.layer], userOf(run));
    await writeStack(run, stack, { flush: this.#isOnDisk(run) });
  }

  async #begin(run: Run, { isFull }: { readonly isFull: boolean }): Promise<void> {
    const { folders } = this.#options;
    const { merges } = await readStack(run);
    if (merges && (this.#works.get(run.id)?.layer === merges.layer || (await this.ready(run)))) return;
    await this.drop(run); // a process has died
    const stack = await readStack(run);
    const below = await mapLimit(stack.below, PARALLEL, (id) => folders.facts(id));
    const of = planMerge(below, { isMergeable: (layer) => this.#isMergeable(run, layer), isFull });
    if (of.length === 0) return;
    const layer = createLayerId();
    await writeStack(run, { ...stack, merges: { layer, of: of.map(({ id }) => id) } }, { flush: this.#isOnDisk(run) });
    await folders.begin(this.#kind(run), userOf(run), layer);
    this.#work(run, layer, of);
  }

  #work(run: Run, layer: string, of: readonly LayerFacts[]): void {
    const ends = new AbortController();
    const merge = this.#merge(run, this.#factsOf(run, layer, of), { of, signal: ends.signal });
    // What could not be merged is tried again after a later raise, which finds no such layer.
    const done = merge.catch(() => this.#options.letGoSoon([layer], userOf(run)).catch(() => undefined));
    const work = { layer, done, ends };
    this.#works.set(run.id, work);
    void done.then(() => this.#works.get(run.id) === work && this.#works.delete(run.id));
  }

  async #merge(
    run: Run,
    facts: LayerFacts,
    { of, signal }: { readonly of: readonly LayerFacts[]; readonly signal: AbortSignal },
  ): Promise<void> {
    const { jobs, folders, place } = this.#options;
    const layer = { folder: folders.folder(facts.id), files: folders.files(facts) };
    await jobs.run({ kind: "merge", place: place(run), layer, below: of.map((one) => folders.filesOf(one)) }, signal);
    if (!signal.aborted) await folders.finish(facts, { flush: this.#isOnDisk(run) });
  }

  /** Its files are on the disk: it needs no boot. */
  #factsOf(run: Run, id: string, of: readonly LayerFacts[]): LayerFacts {
    const kind = this.#kind(run);
    return { id, kind, overlays: overlaysOf(of), tier: tierAbove(of), ...(kind === "held" && { sandbox: run.id }) };
  }

  /** Of the work of this process. */
  async end(run: Run): Promise<void> {
    const work = this.#works.get(run.id);
    work?.ends.abort();
    await work?.done;
  }

  #isMergeable(run: Run, layer: LayerFacts): boolean {
    return layer.kind === this.#kind(run) && (layer.kind !== "held" || layer.sandbox === run.id) && tierOf(layer) < IMAGE_TIER;
  }

  #kind(run: Run): "held" | "home" {
    return this.#isOnDisk(run) ? "home" : "held";
  }

  #isOnDisk(run: Run): boolean {
    return this.#options.place(run).storage !== "tmpfs";
  }
}
