import type { RunningSandbox } from "../../runtime/contract/run.ts";
import type { Journal } from "../journal.ts";
import type { RunEnds } from "../run-ends.ts";
import type { Runtimes } from "../runtimes.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { type RunRecord, toSpec } from "../to-spec.ts";
import type { PoolFiles } from "./pool-files.ts";
import type { PoolKind } from "./pool-options.ts";
import { guestOf } from "./taken-sandbox.ts";

/** A waiting sandbox ends by itself so long after its maker has died. */
export const WAITING_MS = 300_000;

export interface PoolMakerOptions {
  readonly files: PoolFiles;
  readonly journal: Journal;
  readonly runtimes: Runtimes;
  readonly ends: Pick<RunEnds, "clearUnknown">;
}

/** What of a record is left when it is nobody's. */
export type PlannedRecord = RunRecord & Pick<SandboxRecord, "id" | "runtime" | "inside">;

/** How the sandboxes of one kind are made. */
export interface Making {
  /** The record that one would have, with an id of its own, and its key. Without a key none can wait. */
  readonly plan: () => Promise<{ readonly record: PlannedRecord; readonly key: string | undefined }>;
  readonly warm: PoolKind["warm"];
}

/** One that this process made and that nobody has claimed, as far as it knows. */
export interface MadeSandbox {
  readonly id: string;
  readonly key: string;
  readonly running: RunningSandbox;
}

/** What can be claimed, and what it is made with. */
type WaitingToken = Pick<MadeSandbox, "id" | "key"> & Pick<SandboxRecord, "runtime" | "inside">;

/** Makes the sandboxes that wait, keeps them alive, and ends them. */
export class PoolMaker {
  readonly #options: PoolMakerOptions;

  constructor(options: PoolMakerOptions) {
    this.#options = options;
  }

  /** Undefined for a kind that cannot wait. On rejection nothing is left, or a sweep clears it. */
  async make({ plan, warm }: Making, signal: AbortSignal): Promise<MadeSandbox | undefined> {
    const { files, journal, runtimes } = this.#options;
    const { record, key } = await plan();
    if (key === undefined) return undefined;
    const { id, inside } = record;
    const spec = toSpec({ id, generation: 1, folder: journal.folder(id), inside }, record, {
      deadline: new Date(Date.now() + WAITING_MS),
      deadlineAction: "kill",
    });
    files.begin(id);
    try {
      const running = await runtimes.need(record).create(spec, signal);
      try {
        await unlessAborted(warm({ id, guest: guestOf(running), ended: running.ended }, signal), signal);
        files.offer(key, id);
      } catch (cause) {
        await running.kill("create_failed");
        throw cause;
      }
      return { id, key, running };
    } catch (cause) {
      await this.#remove(id);
      throw cause;
    }
  }

  /** False when it is not ours any more: somebody has claimed it, or it has ended. */
  async extend({ id, key, running }: MadeSandbox): Promise<boolean> {
    const { files } = this.#options;
    // Nobody can claim it meanwhile: the deadline of its owner must not be followed by this one.
    if (!files.withhold(key, id)) return false;
    try {
      await running.extend(new Date(Date.now() + WAITING_MS), "kill");
    } catch {
      // It has ended, or does not answer: it stays withheld, and its deadline ends it.
      return false;
    }
    files.putBack(key, id);
    return true;
  }

  /** Ends one that nobody has claimed. Of another one only the handle is closed. On rejection it waits as before. */
  async end({ id, key, running }: MadeSandbox): Promise<void> {
    if (!this.#options.files.withhold(key, id)) return running.release();
    await this.#endWithheld({ id, key }, async () => running);
  }

  /** The same of one that another process may have made. */
  async endOfOther({ id, key, runtime, inside }: WaitingToken): Promise<void> {
    const { files, journal, runtimes } = this.#options;
    if (!files.withhold(key, id)) return;
    await this.#endWithheld({ id, key }, async () =>
      runtimes.need({ id, runtime }).open({ id, generation: 1, folder: journal.folder(id), inside }),
    );
  }

  /** While its token is there, somebody ends it later, or a sweep sees it. */
  async #endWithheld({ id, key }: Pick<MadeSandbox, "id" | "key">, open: () => Promise<RunningSandbox | undefined>): Promise<void> {
    try {
      const running = await open();
      await running?.kill("killed");
      await this.forget(id, key);
    } catch (cause) {
      this.#options.files.putBack(key, id);
      throw cause;
    }
  }

  /** Removes what is left of one that has ended by itself. What somebody claimed is his. */
  async forget(id: string, key: string): Promise<void> {
    await this.#options.files.forget(key, id);
    await this.#remove(id);
  }

  async #remove(id: string): Promise<void> {
    const { ends, journal } = this.#options;
    if (await journal.hasRecord(id)) return;
    if (await ends.clearUnknown(id)) await journal.remove(id);
  }
}

/** A process that closes waits for no interpreter: it is killed with its sandbox. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  work.catch(() => undefined); // where nobody waits for it any more, it fails with the sandbox
  signal.throwIfAborted();
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => (abort = () => reject(signal.reason as Error)));
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
