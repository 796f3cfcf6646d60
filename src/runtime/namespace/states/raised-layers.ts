import { rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../../errors.ts";
import { ifPresent } from "../../../files/file-error.ts";
import { createGuest } from "../../guest/create-guest.ts";
import type { Raised } from "../../guest/keeper-client.ts";
import type { RecordedRun, Run } from "../../runtime.ts";
import type { JailPaths } from "../jail-spec.ts";
import type { NamespaceSandbox } from "../running-sandbox.ts";
import { type LayerFacts, type LayerFolders, raisedName } from "./layer-folders.ts";
import type { LayerFlusher } from "./layer-flusher.ts";
import type { LayerJobs } from "./layer-jobs.ts";
import { flushStack, readStack, type Stack, writeStack } from "./stack-file.ts";

export interface RaisedLayersOptions {
  readonly jobs: LayerJobs;
  readonly flusher: LayerFlusher;
  /** Of the machine. */
  readonly boot: string;
  readonly folders: LayerFolders;
  readonly place: (run: Run) => JailPaths;
  readonly open: (run: RecordedRun) => NamespaceSandbox;
}

/** The name of the sandbox among the users of its layers. */
export function userOf({ id }: Run): string {
  return `sandbox-${id}`;
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

  /** How long everything stood still. Undefined: a program is alive, or something else stands in the way, and nothing has changed. */
  async raise(run: RecordedRun, layer: string, signal: AbortSignal): Promise<number | undefined> {
    const running = this.#options.open(run);
    try {
      if (running.isPaused() && (await running.usage()).pauseReason === "idle") await running.resume(); // any call may wake it
      if (!(await this.#canMove(run, layer)) || !(await canRaise(running, layer))) return undefined;
      await this.#options.folders.addUser(layer, userOf(run));
      await writeStack(run, { ...(await readStack(run)), raises: layer }, { flush: this.#isOnDisk(run) });
      if (this.#isOnDisk(run)) await flushStack(run);
      return await this.#raiseStill(running, { run, layer, signal });
    } catch (cause) {
      // Whoever looks next finds out what became of it. The reason of the failure is told.
      await this.settle(run).catch(() => undefined);
      const isPaused = cause instanceof BelljarError && (cause.code === "SANDBOX_PAUSED" || cause.code === "NOT_SUPPORTED");
      if (isPaused) return undefined;
      throw cause;
    } finally {
      await running.release();
    }
  }

  async #raiseStill(
    running: NamespaceSandbox,
    { run, layer, signal }: { readonly run: RecordedRun; readonly layer: string; readonly signal: AbortSignal },
  ): Promise<number | undefined> {
    await using still = await createGuest((one) => running.connect(one), { ended: running.ended }).still(signal);
    const overlays = await running.raise(layer, { onlyTells: false });
    const stillMs = await still.end();
    if (overlays.length > 0) await this.#finish(run, layer, overlays);
    else await this.#leave(run, layer);
    return overlays.length > 0 ? stillMs : undefined;
  }

  /** Finds out what became of a raise that was cut off, if there is one. The caller has the lock of the work on the sandbox. */
  async settle(run: Run): Promise<Stack> {
    const stack = await readStack(run);
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
    const files = folders.files({ id: layer, kind: "home" });
    return jobs.run({ kind: "list", place: place(run), layer: { folder: folders.folder(layer), files } });
  }

  async #finish(run: Run, layer: string, overlays: Raised): Promise<void> {
    const { folders, place, flusher } = this.#options;
    const raised = join(place(run).layers, raisedName(layer));
    const isOnDisk = this.#isOnDisk(run);
    // Another process may have done it.
    if (isOnDisk) await ifPresent(raised, rename(raised, folders.files({ id: layer, kind: "home" })));
    await folders.finish(this.#factsOf(run, layer, overlays), { flush: isOnDisk });
    const { raises, ...stack } = await readStack(run);
    if (raises === layer) await writeStack(run, { ...stack, below: [layer, ...stack.below] }, { flush: isOnDisk });
    if (isOnDisk) flusher.soon(place(run));
  }

  /** What lies in memory needs no boot: it is gone with its sandbox. */
  #factsOf(run: Run, layer: string, overlays: Raised): LayerFacts {
    if (!this.#isOnDisk(run)) return { id: layer, kind: "held", overlays, sandbox: run.id };
    return { id: layer, kind: "home", overlays, boot: this.#options.boot };
  }

  async #leave(run: Run, layer: string): Promise<void> {
    const { raises, ...stack } = await readStack(run);
    if (raises !== layer) return;
    await writeStack(run, stack);
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

/** Of a run that is only asked for its layers. */
const NOWHERE = { env: {}, home: "/", workspace: "/", cwd: "/" } as const;

/** A keeper of an earlier release does not know the question. */
async function canRaise(running: NamespaceSandbox, layer: string): Promise<boolean> {
  return running.raise(layer, { onlyTells: true }).then(
    () => true,
    () => false,
  );
}
