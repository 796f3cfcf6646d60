import { BelljarError } from "../../errors.ts";
import { createGuest } from "../../runtime/guest/create-guest.ts";
import type { RunningSandbox } from "../../runtime/contract/run.ts";
import type { Runtime } from "../../runtime/contract/runtime.ts";
import type { Journal } from "../journal.ts";
import type { LocalSandbox } from "../local-sandbox.ts";
import type { RunEnds } from "../run-ends.ts";
import { firstRun } from "../run-states.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { PoolFiles } from "./pool-files.ts";
import type { PoolOptions } from "./pool-options.ts";

export interface TakenSandboxOptions {
  readonly id: string;
  readonly key: string;
  /** Of one that this process made. */
  readonly running?: RunningSandbox;
  readonly files: PoolFiles;
  readonly journal: Journal;
  readonly ends: Pick<RunEnds, "clearUnknown">;
  readonly handOver: PoolOptions["handOver"];
}

/**
 * A sandbox that waited, on the way to its owner. Whatever fails after the claim, nobody else gets it: it is killed. If this process dies
 * before the record is written, its short deadline ends it, and a sweep clears it; after that it is the owner's.
 */
export class TakenSandbox {
  readonly id: string;
  readonly #options: TakenSandboxOptions;
  #running: RunningSandbox | undefined;
  #state: "waiting" | "claimed" | "gone" = "waiting";

  constructor(options: TakenSandboxOptions) {
    this.id = options.id;
    this.#options = options;
    this.#running = options.running;
  }

  /** Nobody has it yet: it may go on waiting. */
  get isWaiting(): boolean {
    return this.#state === "waiting";
  }

  /** Another process has it, or it has ended. */
  get isGone(): boolean {
    return this.#state === "gone";
  }

  /** The record takes the place of the note, in the same step of this process. Rejects if the sandbox is gone. */
  async claim(record: SandboxRecord): Promise<void> {
    const { files, journal, key } = this.#options;
    if (!files.claim(key, this.id)) throw this.#gone();
    this.#state = "claimed";
    try {
      journal.adopt(record);
    } catch (cause) {
      if (await this.discard()) await journal.remove(this.id);
      throw cause;
    }
  }

  /** Sets the owner's deadline, and what happens then: from here on it lives as long as one that was just made. */
  async start(record: SandboxRecord, runtime: Runtime): Promise<RunningSandbox> {
    const running = await this.#open(record, runtime);
    if (!running) throw this.#gone();
    this.#running = running;
    try {
      await running.extend(record.deadline, firstRun(record).action);
    } catch (cause) {
      // It ended before, or does not answer: it is no good to anybody.
      throw this.#gone(cause);
    }
    return running;
  }

  async handOver(sandbox: LocalSandbox): Promise<void> {
    const { id, guest, ended } = sandbox;
    const known = this.#running?.env ?? {};
    const env = Object.entries(await sandbox.environment()).filter(([name, value]) => known[name] !== value);
    await this.#options.handOver({ id, guest, ended }, Object.fromEntries(env));
  }

  /** Ends it, after the claim. False: it may live, until its deadline, and a sweep clears it. */
  async discard(): Promise<boolean> {
    await this.#running?.kill("create_failed").catch(() => undefined);
    return (await this.#options.ends.clearUnknown(this.id).catch(() => undefined)) !== undefined;
  }

  async #open({ id, inside }: SandboxRecord, runtime: Runtime): Promise<RunningSandbox | undefined> {
    return this.#running ?? runtime.open({ id, generation: 1, folder: this.#options.journal.folder(id), inside });
  }

  #gone(cause?: unknown): BelljarError {
    this.#state = "gone";
    return new BelljarError("SANDBOX_NOT_FOUND", `Sandbox ${this.id} waits no more: make another one`, { cause });
  }
}

/** The guest as a waiting sandbox has it: with the template's variables alone. */
export function guestOf(running: RunningSandbox) {
  return createGuest((signal) => running.connect(signal), { env: async () => running.env, ended: running.ended });
}
