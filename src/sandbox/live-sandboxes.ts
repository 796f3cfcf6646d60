import { ShareByKey } from "../async/share-by-key.ts";
import { BelljarError } from "../errors.ts";
import type { Runtime, RunningSandbox, SandboxEnd } from "../runtime/runtime.ts";
import { mayBeInTheMaking } from "./creator.ts";
import type { HomeNetworks } from "./network/home-networks.ts";
import type { NetworkState } from "./network/network-state.ts";
import type { Journal } from "./journal.ts";
import type { SandboxKeeping } from "./local-sandbox.ts";
import { LocalSandbox } from "./local-sandbox.ts";
import { type LiveHandle, lifeOf, usageOf } from "./life.ts";
import type { Life } from "./sandbox-info.ts";
import { toSandboxInfo } from "./sandbox-info.ts";
import type { SandboxRecord, Tombstone } from "./sandbox-record.ts";
import type { SandboxInfo } from "./sandbox.ts";

export interface LiveSandboxesOptions {
  readonly runtime: Runtime;
  readonly journal: Journal;
  readonly networks: HomeNetworks;
  readonly report: (problem: string) => void;
}

/**
 * The runtime's handles that this process holds, one for each sandbox, and the end of sandboxes:
 * the tombstone is written as soon as an end is known, and marked once the runtime has cleared what was left.
 */
export class LiveSandboxes implements SandboxKeeping, AsyncDisposable {
  readonly #runtime: Runtime;
  readonly #journal: Journal;
  readonly networks: HomeNetworks;
  readonly #report: (problem: string) => void;
  readonly #held = new Map<string, LocalSandbox>();
  readonly #opening = new ShareByKey<LocalSandbox | undefined>();
  readonly #burying = new ShareByKey<void>();
  readonly #settling = new ShareByKey<SandboxEnd | undefined>();
  #isReleased = false;

  constructor({ runtime, journal, networks, report }: LiveSandboxesOptions) {
    this.#runtime = runtime;
    this.#journal = journal;
    this.networks = networks;
    this.#report = report;
  }

  /** One that this process holds and that is not known to have ended. */
  held(id: string): LocalSandbox | undefined {
    const sandbox = this.#held.get(id);
    return sandbox?.end ? undefined : sandbox;
  }

  /** How many of those there are. */
  get count(): number {
    return [...this.#held.values()].filter(({ end }) => !end).length;
  }

  /** Takes over the handle. `network`: what a fresh one begins with. */
  async hold(record: SandboxRecord, running: RunningSandbox, network?: NetworkState): Promise<LocalSandbox> {
    if (this.#isReleased) {
      await running.release();
      throw new BelljarError("CANCELLED", `Sandbox ${record.id} is alive, but this process is closing`);
    }
    const sandbox = new LocalSandbox(record, { running, keeping: this, ...(network && { network }) });
    this.#held.set(record.id, sandbox);
    void running.ended.then((end) => this.#buryUnasked(sandbox, end));
    return sandbox;
  }

  /** Undefined when it lives no more, or not yet. */
  open(record: SandboxRecord): Promise<LocalSandbox | undefined> {
    const held = this.held(record.id);
    if (held) return Promise.resolve(held);
    return this.#opening.run(record.id, async () => {
      const running = await this.#openHandle(record);
      return running && this.hold(record, running);
    });
  }

  /** Clears what an ended sandbox left and writes its tombstone; what cannot be cleared yet is reported, and swept later. */
  bury(record: SandboxRecord, end: SandboxEnd): Promise<void> {
    return this.#burying.run(record.id, async () => {
      const settled = await this.#reported(record, () => this.settle(record));
      const isBuried = settled !== undefined || (await this.#journal.read(record.id))?.end !== undefined;
      if (!isBuried) await this.#noteEnd(record, { ...end, isCleared: false });
    });
  }

  /** Has the runtime clear what a dead sandbox left, then writes the tombstone; undefined while it lives or its keeper is at it. */
  settle(record: SandboxRecord): Promise<SandboxEnd | undefined> {
    return this.#settling.run(record.id, async () => {
      this.#assertOurs(record);
      const end = await this.#runtime.clear(record.id, this.#journal.folder(record.id));
      if (!end) return undefined;
      await this.#noteEnd(record, { ...end, isCleared: true });
      await this.#letGo(record.id);
      await this.networks.remove(record.id);
      return end;
    });
  }

  /** For a folder that no record explains. */
  clearUnknown(id: string): Promise<SandboxEnd | undefined> {
    return this.#runtime.clear(id, this.#journal.folder(id));
  }

  async info(record: SandboxRecord): Promise<SandboxInfo> {
    const info = await this.findInfo(record);
    if (info) return info;
    throw notReady(record);
  }

  /** Undefined when it is in the making, or its end is known to nobody yet. */
  async findInfo(record: SandboxRecord): Promise<SandboxInfo | undefined> {
    const [{ limits }, life] = await Promise.all([this.#runtime.probe(), this.#findSeen(record)]);
    if (!life) return undefined;
    const network = "reason" in life ? undefined : (await this.networks.read(record)).state;
    return toSandboxInfo(record, { life, enforced: limits, ...(network && { network }) });
  }

  /** How it ended, or how it is now as its keeper says; undefined when it is in the making, or its end is known to nobody yet. */
  async findLife(record: SandboxRecord): Promise<Life | undefined> {
    const known = await this.#knownEnd(record);
    return known ?? (await this.#lifeNow(record, usageOf)) ?? (await this.#findEnd(record));
  }

  /** The same for those who look at it: its guest must answer too. */
  async #findSeen(record: SandboxRecord): Promise<Life | undefined> {
    const known = await this.#knownEnd(record);
    return known ?? (await this.#lifeNow(record, lifeOf)) ?? (await this.#findEnd(record));
  }

  /** Whether this process's runtime made it and can speak of it. */
  isOurs(record: SandboxRecord): boolean {
    return record.runtime === this.#runtime.name;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isReleased = true;
    await Promise.all([this.#opening.idle(), this.#burying.idle()]);
    await this.#settling.idle();
    await Promise.all([...this.#held.keys()].map((id) => this.#letGo(id)));
  }

  async #knownEnd(record: SandboxRecord): Promise<SandboxEnd | undefined> {
    return this.#held.get(record.id)?.end ?? (await this.#journal.read(record.id))?.end;
  }

  /** For one that does not answer; it may have ended, and been buried, since it was asked. */
  async #findEnd(record: SandboxRecord): Promise<SandboxEnd | undefined> {
    const known = await this.#knownEnd(record);
    return known ?? (mayBeInTheMaking(record, Date.now()) ? undefined : this.settle(record));
  }

  /**
   * Undefined when it lives no more. While it is being taken down its end is waited for: whoever asks because a stream broke
   * is told the reason. A handle opened for this one question is closed again.
   */
  async #lifeNow(record: SandboxRecord, look: (handle: LiveHandle) => Promise<Life>): Promise<Life | undefined> {
    const held = this.held(record.id);
    const handle = held ?? (await this.#openHandle(record));
    try {
      return handle && (await look(handle));
    } catch (cause) {
      if (cause instanceof BelljarError && cause.code === "SANDBOX_ENDED") return undefined;
      throw cause;
    } finally {
      if (!held) await handle?.release();
    }
  }

  #openHandle(record: SandboxRecord): Promise<RunningSandbox | undefined> {
    this.#assertOurs(record);
    return this.#runtime.open(record.id, this.#journal.folder(record.id));
  }

  async #letGo(id: string): Promise<void> {
    const sandbox = this.#held.get(id);
    this.#held.delete(id);
    await sandbox?.release();
  }

  /** What `kill` of this process has buried is held no more. */
  async #buryUnasked(sandbox: LocalSandbox, end: SandboxEnd): Promise<void> {
    if (this.#held.get(sandbox.id) !== sandbox) return;
    await this.#reported(sandbox.record, () => this.bury(sandbox.record, end));
  }

  /** It has ended, whether the disk has room to say so or not; whoever asks later tries to write it down again. */
  async #noteEnd(record: SandboxRecord, end: Tombstone): Promise<void> {
    try {
      await this.#journal.writeEnd(record.id, end);
    } catch (cause) {
      if (!(cause instanceof BelljarError && cause.code === "DISK_FULL")) throw cause;
      this.#report(`Sandbox ${record.id} has ended, and its end is not written down yet: ${cause.message}`);
    }
  }

  async #reported<T>(record: SandboxRecord, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (cause) {
      this.#report(`Sandbox ${record.id} ended, but what it left cannot be cleared yet: ${String(cause)}`);
      return undefined;
    }
  }

  #assertOurs(record: SandboxRecord): void {
    if (this.isOurs(record)) return;
    throw new BelljarError(
      "RUNTIME_UNAVAILABLE",
      `Sandbox ${record.id} was made by the runtime "${record.runtime}", but this process runs "${this.#runtime.name}"`,
    );
  }
}

/** It neither answers nor is dead: in the making, or being taken down. */
export function notReady(record: SandboxRecord): BelljarError {
  return new BelljarError("RUNTIME_UNAVAILABLE", `Sandbox ${record.id} is being created or removed: try again`);
}
