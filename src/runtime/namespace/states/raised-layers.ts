import { rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../../errors.ts";
import { ifPresent } from "../../../files/file-error.ts";
import { flushPath } from "../../../files/replace-file.ts";
import { createGuest } from "../../guest/create-guest.ts";
import type { MergedGaps, Raised } from "../../guest/keeper-client.ts";
import type { RecordedRun, Run } from "../../contract/run.ts";
import type { CopyReason } from "../../contract/state-store.ts";
import type { JailPaths } from "../jail-spec.ts";
import type { NamespaceSandbox } from "../running-sandbox.ts";
import { type LayerFacts, type LayerFolders, raisedName, userOf } from "./layer-folders.ts";
import type { LayerFlusher } from "./layer-flusher.ts";
import type { LayerJobs } from "./layer-jobs.ts";
import { merged } from "./merge-plan.ts";
import type { MergedLayers } from "./merged-layers.ts";
import { flushStack, readStack, type Stack, writeStack } from "./stack-file.ts";

/** A copy on top of so many layers copies them as well, and stands for all. The kernel's bound is 500. */
export const STACK_FULL = 32;

export interface RaisedLayersOptions {
  readonly merged: MergedLayers;
  readonly letGoSoon: (layers: readonly string[], user: string) => Promise<void>;
  readonly jobs: LayerJobs;
  readonly flusher: LayerFlusher;
  /** Of the machine. */
  readonly boot: string;
  readonly folders: LayerFolders;
  readonly place: (run: Run) => JailPaths;
  readonly open: (run: RecordedRun) => NamespaceSandbox;
}

/**
 * What a running sandbox has written becomes a frozen layer of its own stack, in constant time (`native/jail/raise.h`), if nothing but its
 * guest is alive. The stack names the layer before anything is done. The layer then has what was written, or nothing yet, and the sandbox has
 * the same files in both cases. Whoever looks next finds out, and writes it down.
 */
export class RaisedLayers {
  readonly #options: RaisedLayersOptions;

  constructor(options: RaisedLayersOptions) {
    this.#options = options;
  }

  /** How long everything stood still, or what stands in the way: then nothing has changed. */
  async raise(run: RecordedRun, layer: string, signal: AbortSignal): Promise<number | CopyReason> {
    const running = this.#options.open(run);
    try {
      if (running.isPaused() && (await running.usage()).pauseReason === "idle") await running.resume(); // any call may wake it
      if (!(await this.#canMove(run, layer)) || !(await canRaise(running, layer))) return "place";
      const taken = await this.#findMerged(run, { running, layer, signal });
      if (taken === "none") return "depth";
      await this.#options.folders.addUser(layer, userOf(run));
      await this.#name(run, layer, taken);
      return await this.#raiseStill(running, { run, layer, merged: taken, signal });
    } catch (cause) {
      // Whoever looks next finds out what became of it. The reason of the failure is told.
      await this.settle(run).catch(() => undefined);
      const isPaused = cause instanceof BelljarError && (cause.code === "SANDBOX_PAUSED" || cause.code === "NOT_SUPPORTED");
      if (isPaused) return "paused";
      throw cause;
    } finally {
      await running.release();
    }
  }

  /** "none": the stack is full, and stays so. */
  async #findMerged(
    run: Run,
    { running, layer, signal }: { readonly running: NamespaceSandbox; readonly layer: string; readonly signal: AbortSignal },
  ): Promise<MergedGaps | "none" | undefined> {
    const isFull = (await readStack(run)).below.length >= STACK_FULL;
    if (isFull) await this.#options.merged.waitFor(run, signal);
    const found = await this.#options.merged.ready(run);
    const taken = found && (await canRaise(running, layer, found)) ? found : undefined;
    return isFull ? (taken ?? "none") : taken;
  }

  /** A merged layer of the home is mounted from where the raised one lies at first. */
  async #name(run: Run, layer: string, taken: MergedGaps | undefined): Promise<void> {
    const { past: _past, ...stack } = await readStack(run); // `settle` has let go of them
    await writeStack(run, { ...stack, raises: layer, ...(taken && { takesMerged: true }) }, { flush: this.#isOnDisk(run) });
    if (!this.#isOnDisk(run)) return;
    await flushStack(run);
    if (taken) await rename(this.#homeOf(taken.layer), this.#besideWritable(run, taken.layer));
  }

  async #raiseStill(running: NamespaceSandbox, { run, layer, merged: taken, signal }: Raise): Promise<number | CopyReason> {
    await using still = await createGuest((one) => running.connect(one), { ended: running.ended }).still(signal);
    const overlays = await running.raise(layer, { onlyTells: false, merged: taken });
    const stillMs = await still.end();
    if (overlays.length > 0) await this.#finish(run, layer, overlays);
    else await this.#leave(run, layer);
    return overlays.length > 0 ? stillMs : "programs";
  }

  /** Finds out what became of a raise that was cut off, if there is one. The caller has the lock of the work on the sandbox. */
  async settle(run: Run): Promise<Stack> {
    const stack = await readStack(run);
    if (stack.past) await this.#options.letGoSoon(stack.past, userOf(run));
    if (stack.raises === undefined) return stack;
    const overlays = await this.#look(run, stack.raises);
    if (overlays.length > 0) await this.#finish(run, stack.raises, overlays);
    else await this.#leave(run, stack.raises);
    return readStack(run);
  }

  /** The keeper of a run that lives knows it, and answers after all that it was asked before. */
  async #look(run: Run, layer: string): Promise<Raised> {
    const running = this.#options.open({ ...run, inside: NOWHERE });
    try {
      return await running.raise(layer, { onlyTells: true });
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
      return await this.#list(run, layer);
    } finally {
      await running.release();
    }
  }

  #list(run: Run, layer: string): Promise<Raised> {
    const { jobs, folders, place } = this.#options;
    return jobs.run({ kind: "list", place: place(run), layer: { folder: folders.folder(layer), files: this.#homeOf(layer) } });
  }

  async #finish(run: Run, layer: string, overlays: Raised): Promise<void> {
    const { folders, place, flusher } = this.#options;
    const isOnDisk = this.#isOnDisk(run);
    await this.#bringHome(run, layer);
    await folders.finish(this.#factsOf(run, layer, overlays), { flush: isOnDisk });
    const stack = await readStack(run);
    if (stack.raises === layer) await this.#put(run, layer, stack);
    if (isOnDisk) flusher.soon(place(run));
  }

  /** The sandbox lies on it, and has let go of what a merged layer shows now. */
  async #put(run: Run, layer: string, { raises: _raises, takesMerged, ...stack }: Stack): Promise<void> {
    const flush = this.#isOnDisk(run);
    const { merges, ...rest } = stack;
    if (!takesMerged || !merges) return writeStack(run, { ...stack, below: [layer, ...stack.below] }, { flush });
    await this.#bringHome(run, merges.layer, { flush });
    await writeStack(run, { ...rest, below: [layer, ...merged(stack.below, merges)], past: merges.of }, { flush });
    await this.#options.letGoSoon(merges.of, userOf(run));
  }

  /** In the home, from beside the writable layers to its own folder. Another process may have done it. */
  async #bringHome(run: Run, layer: string, { flush = false } = {}): Promise<void> {
    if (!this.#isOnDisk(run)) return;
    const from = this.#besideWritable(run, layer);
    await ifPresent(from, rename(from, this.#homeOf(layer)));
    if (flush) await flushPath(this.#options.folders.folder(layer));
  }

  #besideWritable(run: Run, layer: string): string {
    return join(this.#options.place(run).layers, raisedName(layer));
  }

  #homeOf(layer: string): string {
    return this.#options.folders.files({ id: layer, kind: "home" });
  }

  /** What lies in memory needs no boot: it is gone with its sandbox. */
  #factsOf(run: Run, layer: string, overlays: Raised): LayerFacts {
    if (!this.#isOnDisk(run)) return { id: layer, kind: "held", overlays, sandbox: run.id };
    return { id: layer, kind: "home", overlays, boot: this.#options.boot };
  }

  async #leave(run: Run, layer: string): Promise<void> {
    const { raises, takesMerged, ...stack } = await readStack(run);
    if (raises !== layer) return;
    if (takesMerged && stack.merges) await this.#bringHome(run, stack.merges.layer, { flush: this.#isOnDisk(run) });
    await writeStack(run, stack, { flush: takesMerged === true && this.#isOnDisk(run) });
    await this.#options.folders.removeUser(layer, userOf(run));
  }

  /** In the home, a raised layer gets its place by a rename. The frozen layers may lie on another file system. */
  async #canMove(run: Run, layer: string): Promise<boolean> {
    const { folders, place } = this.#options;
    const { layers, storage } = place(run);
    return storage !== "home" || (await stat(layers)).dev === (await stat(folders.folder(layer))).dev;
  }

  /** A stopped sandbox whose files lie on a disk is there after a power cut, with all layers that it lies on. */
  #isOnDisk(run: Run): boolean {
    return this.#options.place(run).storage !== "tmpfs";
  }
}

interface Raise {
  readonly run: RecordedRun;
  readonly layer: string;
  readonly merged: MergedGaps | undefined;
  readonly signal: AbortSignal;
}

/** Of a run that is only asked for its layers. */
const NOWHERE = { env: {}, home: "/", workspace: "/", cwd: "/" } as const;

/** A keeper of an earlier release does not know the question. */
async function canRaise(running: NamespaceSandbox, layer: string, taken?: MergedGaps): Promise<boolean> {
  return running.raise(layer, { onlyTells: true, merged: taken }).then(
    () => true,
    () => false,
  );
}
