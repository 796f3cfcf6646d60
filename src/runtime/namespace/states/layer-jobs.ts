import { limitTime } from "../../../async/limit-time.ts";
import { BelljarError } from "../../../errors.ts";
import { encodeFields, type Field } from "../../../protocol/fields.ts";
import { encodeHead } from "../../../protocol/head.ts";
import { OPERATION } from "../../../protocol/wire.ts";
import { type JailPaths, placeFields } from "../jail-spec.ts";
import { IDS, type LayerFiles } from "../jail-steps.ts";
import { JobProcess } from "./job-process.ts";

/** Numbers of `native/jail/layers.h`. */
const JOB = { copy: 1, clone: 2, empty: 3, seed: 4, remove: 5, list: 6, flush: 7, merge: 8 } as const;
/** The number of `native/jail/jail.h` for a list of layers. */
const OVERLAY = 1;
const EXIT = { ALIVE: 3, FULL: 5, LOST: 6, KILLED: 137 } as const;
/** Of the specification: the caller waits for the disk; no run may live meanwhile. */
const DURABLE = 128;
const NO_RUN = 2;
const HAS_LAYERS = 16;
/** A job that takes longer is killed, with an error. Copying and removing millions of files takes minutes. */
const JOB_MS = 15 * 60_000;
const NEVER = new AbortController().signal;
const LINE_MAX = 64;
const LINES_MAX = 64;
const TEXT_MAX = 1_000;
/** The line after which the caller need not wait. */
const DONE = "done";

export interface LayerJob {
  readonly kind: keyof typeof JOB;
  /** The sandbox whose layers it works on. For `remove`, a place that names the layer alone, unless its files lie with the sandbox's. */
  readonly place: JailPaths;
  /** The layer's own folder, and where its files are. Of `flush`: the folder of all layers, and a folder that is flushed with them. */
  readonly layer?: { readonly folder: string; readonly files: string };
  /** Of `copy`, the files of layers that become one with it, and of `merge`, that become one; the topmost first. */
  readonly below?: readonly Pick<LayerFiles, "files" | "isHeld">[];
  /** Of `flush`: the job goes on when its caller ends, and need not be waited for. */
  readonly isDetached?: boolean;
  /** Of `flush`: the boot whose layers get the mark. */
  readonly boot?: string;
  /** Of `copy`: the sandbox does not run, and must not start meanwhile. */
  readonly isStopped?: boolean;
}

/** Does work on layers, each job in a process of the native binary. */
export class LayerJobs {
  readonly #process: JobProcess;

  constructor(binary: string) {
    this.#process = new JobProcess(binary);
  }

  /**
   * Resolves with the lines that the job printed once the work is done as far as a caller must wait; the job may go on to remove files, and
   * ends by itself. Aborting kills it; then what it made is in part. Rejects, once it has ended, with `DISK_FULL`, `SANDBOX_FILES_LOST`,
   * `RUNTIME_UNAVAILABLE` while a run or another job uses the layers, `RUNTIME_FAILED` or `CANCELLED`.
   */
  async run(job: LayerJob, signal: AbortSignal = NEVER): Promise<readonly string[]> {
    if (signal.aborted) throw cancelled(signal);
    using limit = limitTime(signal, JOB_MS);
    try {
      return await this.#run(job, limit.signal);
    } catch (cause) {
      throw signal.aborted ? cancelled(signal) : cause;
    }
  }

  /** Nobody kills it any more once its caller need not wait. */
  async #run(job: LayerJob, ends: AbortSignal): Promise<readonly string[]> {
    const { kill, done } = this.#begin(job);
    ends.addEventListener("abort", kill, { once: true });
    try {
      return await done;
    } finally {
      ends.removeEventListener("abort", kill);
    }
  }

  #begin(job: LayerJob): { readonly kill: () => void; readonly done: Promise<readonly string[]> } {
    const lines = new Lines();
    let text = "";
    let kill: () => void = () => undefined;
    const done = new Promise<readonly string[]>((resolve, reject) => {
      kill = this.#process.begin(encodeJob(job), {
        output: (chunk) => {
          lines.push(chunk);
          if (lines.isDone) resolve(lines.whole);
        },
        said: (chunk) => void (text = (text + chunk.toString()).slice(0, TEXT_MAX)),
        ended: (code) => (code === 0 ? resolve(lines.whole) : reject(failed(code, text.trim()))),
        lost: reject,
        isDetached: job.isDetached === true,
      });
    });
    return { kill, done };
  }
}

/** What a job printed: names, a line each. */
class Lines {
  #text = "";

  push(chunk: Buffer): void {
    this.#text = (this.#text + chunk.toString()).slice(0, LINE_MAX * LINES_MAX);
  }

  get whole(): readonly string[] {
    return this.#text
      .split("\n")
      .slice(0, -1)
      .filter((line) => line !== DONE);
  }

  get isDone(): boolean {
    return this.#text.split("\n").slice(0, -1).includes(DONE);
  }
}

function encodeJob({ kind, place, layer, below = [], isDetached, isStopped, boot }: LayerJob): Buffer {
  const flags = HAS_LAYERS | (isDetached ? 0 : DURABLE) | (isStopped ? NO_RUN : 0);
  return encodeHead(OPERATION.JAIL, [
    ...placeFields(place),
    ["KIND", JOB[kind]],
    ["PATH", layer?.folder],
    ["TARGET", layer?.files],
    ["FLAGS", flags],
    ["VALUE", boot],
    ...lowerLayers(below),
  ]);
}

/** The layers below one that is made, the topmost first. */
export function lowerLayers(below: readonly Pick<LayerFiles, "files" | "isHeld">[]): readonly Field[] {
  if (below.length === 0) return [];
  return [["SETUP", encodeFields([["KIND", OVERLAY], ["TARGET", "/"], ["NAME", "below"], ...below.map(lowerLayer)])]];
}

function lowerLayer({ files, isHeld }: Pick<LayerFiles, "files" | "isHeld">): Field {
  return ["LOWER", `${isHeld ? IDS.HELD : IDS.LAYER}${files}`];
}

function failed(code: number, text: string): BelljarError {
  if (code === EXIT.FULL)
    return new BelljarError("DISK_FULL", `No space is left for a frozen state (${text}): remove snapshots and checkpoints, or free some`);
  if (code === EXIT.LOST) return new BelljarError("SANDBOX_FILES_LOST", `What the sandbox wrote is gone (${text})`);
  if (code === EXIT.ALIVE) return new BelljarError("RUNTIME_UNAVAILABLE", "Another run or job uses the files of the sandbox: try again");
  const reason = text || (code === EXIT.KILLED ? "it was killed, or took too long" : `exit code ${code}`);
  return new BelljarError("RUNTIME_FAILED", `The layers of the sandbox could not be worked on: ${reason}`);
}

function cancelled(signal: AbortSignal): BelljarError {
  return new BelljarError("CANCELLED", "The state was not frozen: its caller cancelled", { cause: signal.reason });
}
