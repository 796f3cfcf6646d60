import { setMaxListeners } from "node:events";
import type { Duplex } from "node:stream";
import type { NetworkPolicy } from "../network/policy.ts";
import { listListening } from "../network/ports/listening-ports.ts";
import { isOpenLink } from "../network/ports/port-link.ts";
import type { PortLink } from "../network/ports/port-link.ts";
import { createGuest } from "../runtime/guest/create-guest.ts";
import type { Guest } from "../runtime/guest/guest.ts";
import { connectAwake } from "../runtime/guest/link.ts";
import type { DeadlineAction, RunningSandbox, SandboxEnd, Usage } from "../runtime/contract/run.ts";
import { parseTimeout } from "./create-request.ts";
import type { HomeNetworks } from "./network/home-networks.ts";
import type { NetworkState } from "./network/network-state.ts";
import { registerLink, removeLink } from "./network/port-links.ts";
import type { ServedNetwork } from "./network/served-network.ts";
import { changePolicy } from "./network/change-policy.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { OwnSandbox, OwnTimeLine } from "./own-sandbox.ts";
import { ended } from "./refusals.ts";
import type { InsideFolders, LastStop, Principal, RefusalWatch, SandboxInfo, SandboxPorts } from "./sandbox.ts";
import { tellRefusals } from "./tell-refusals.ts";
import type { BaseAnswer, WorkspaceBase } from "./workspace/base/base-entry.ts";

/** A call asks for an extension only when less than this share of the time is left. */
const EXTEND_BELOW = 0.9;
const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);

/** A run that this process holds or held. */
export type HeldRun = Pick<LocalSandbox, "record" | "generation">;

/** What a sandbox needs from those that it lives among. */
export interface SandboxKeeping {
  readonly networks: HomeNetworks;
  /** Writes down how a run ended. Does not touch a later run of the sandbox. */
  bury(run: HeldRun, end: SandboxEnd): Promise<void>;
  info(record: SandboxRecord): Promise<SandboxInfo>;
  /** Makes every process that watches the home look at the sandbox. */
  announce(record: SandboxRecord): void;
  deleteStopped(record: SandboxRecord): Promise<void>;
  /** What it wrote until its last stop outlives a power cut. Rejects as `Sandbox.stop`. */
  flush(record: SandboxRecord): Promise<void>;
  base(record: SandboxRecord): WorkspaceBase;
  timeLine(record: SandboxRecord): OwnTimeLine;
  /** Whether a run that was stopped now was stopped for a rollback. Never rejects. */
  isRolledBack(record: SandboxRecord): Promise<boolean>;
  /** Starts the next run of a stopped sandbox. It counts against the quota of `principal`. Default: the record's owner, without a token. */
  startAgain(record: SandboxRecord, signal: AbortSignal, principal?: Principal): Promise<LocalSandbox>;
  /** The stop before this run. */
  lastStop(run: HeldRun): Promise<LastStop | undefined>;
  /** Writes down what happens at the deadline, for later runs. */
  noteAction(run: HeldRun, action: DeadlineAction): Promise<void>;
}

export interface LocalSandboxOptions {
  readonly running: RunningSandbox;
  readonly keeping: SandboxKeeping;
  /** Set for one that was just made: what its network begins with. */
  readonly network?: NetworkState;
}

interface ChangeOptions {
  readonly capped?: boolean;
  readonly principal?: Principal;
}

/** A sandbox whose present run this process holds. The handle belongs to it: `release` closes it. */
export class LocalSandbox implements OwnSandbox {
  readonly record: SandboxRecord;
  readonly guest: Guest;
  readonly #running: RunningSandbox;
  readonly #keeping: SandboxKeeping;
  readonly #network: ServedNetwork;
  #deadlineMs: number;
  #lifetimeMs: number;
  #end: SandboxEnd | undefined;
  #oomKills: number | undefined;
  #countsKills = true;
  #isEndWritten = false;

  constructor(record: SandboxRecord, { running, keeping, network }: LocalSandboxOptions) {
    this.record = record;
    this.#running = running;
    this.#keeping = keeping;
    this.#deadlineMs = record.deadline.getTime();
    this.#lifetimeMs = record.timeoutMs;
    // Nothing has run yet in a new sandbox.
    this.#oomKills = network && 0;
    this.guest = createGuest((signal) => running.connect(signal), {
      env: () => this.environment(),
      // Streams learn why their run was stopped.
      ended: running.ended.then(async (end) => ({ ...end, isRolledBack: end.kept === true && (await keeping.isRolledBack(record)) })),
      isPaused: () => this.#staysPaused(),
      wake: () => this.#wake(),
    });
    this.#network = keeping.networks.hold(record, this.guest, network);
    void running.ended.then((end) => {
      this.#end = end;
      return keeping.networks.letGo(this.#network);
    });
  }

  get id(): string {
    return this.record.id;
  }

  get owner(): string {
    return this.record.owner;
  }

  get inside(): InsideFolders {
    return this.record.inside;
  }

  get timeLine(): OwnTimeLine {
    return this.#keeping.timeLine(this.record);
  }

  get generation(): number {
    return this.#running.generation;
  }

  lastStop(): Promise<LastStop | undefined> {
    return this.#keeping.lastStop(this);
  }

  /** What is known of its end without asking anybody. */
  get end(): SandboxEnd | undefined {
    return this.#end;
  }

  /** Settles once, when it has ended; never rejects. */
  get ended(): Promise<SandboxEnd> {
    return this.#running.ended;
  }

  /** Wakes a paused one: whoever uses it needs it. */
  connect(signal: AbortSignal): Promise<Duplex> {
    const running = this.#running;
    return connectAwake(
      (one) => running.connect(one),
      () => this.#wake(),
      signal,
    );
  }

  info(): Promise<SandboxInfo> {
    return this.#keeping.info(this.record);
  }

  async usage(): Promise<Usage> {
    const usage = await this.#running.usage();
    this.#countsKills = usage.oomKills !== undefined;
    this.#oomKills = Math.max(this.#oomKills ?? 0, usage.oomKills ?? 0);
    return usage;
  }

  async knownOomKills(): Promise<number | undefined> {
    if (!this.#countsKills) return undefined;
    return this.#oomKills ?? (await this.usage()).oomKills;
  }

  async environment(): Promise<Readonly<Record<string, string>>> {
    const network = await this.#network.environment();
    return { ...this.#running.env, ...network, ...this.record.env, ...this.record.placeholders };
  }

  /** `principal`: whose wish it is; absent: one without grants. */
  async setNetwork(policy: NetworkPolicy, { capped = false, principal }: ChangeOptions = {}): Promise<void> {
    const { record, guest } = this;
    const wish = { policy, capped, ...(principal && { principal }) };
    await changePolicy({ networks: this.#keeping.networks, record, guest }, wish);
  }

  async watchRefusals(): Promise<RefusalWatch> {
    await this.#network.answerClosed();
    const window = this.#keeping.networks.openRefusals(this.id);
    return { tell: async (remedy) => tellRefusals(this.record, window.take(), remedy), [Symbol.dispose]: () => window[Symbol.dispose]() };
  }

  networkState(): Promise<NetworkState> {
    return this.#network.state();
  }

  async ports(): Promise<SandboxPorts> {
    const [listening, links] = await Promise.all([listListening(this.guest, NEVER), this.portLinks()]);
    return { listening, links };
  }

  async portLinks(): Promise<readonly PortLink[]> {
    return (await this.#network.state()).links.filter(isOpenLink);
  }

  registerPort(port: number, access: PortLink["access"], expiresAt?: Date): Promise<PortLink> {
    return registerLink(this.#keeping.networks, this.record, { port, access, expiresAt });
  }

  removePort(port: number): Promise<boolean> {
    return removeLink(this.#keeping.networks, this.record, port);
  }

  workspaceBase(keys: readonly string[]): Promise<BaseAnswer> {
    return this.#keeping.base(this.record).workspaceBase(keys);
  }

  workspaceBaseText(key: string): Promise<Buffer | undefined> {
    return this.#keeping.base(this.record).workspaceBaseText(key);
  }

  async extend(timeoutMs: number, action?: DeadlineAction): Promise<void> {
    const deadline = new Date(Date.now() + parseTimeout(timeoutMs));
    await this.#running.extend(deadline, action);
    this.#deadlineMs = deadline.getTime();
    if (action) await this.#keeping.noteAction(this, action);
    this.#keeping.announce(this.record);
  }

  pause(): Promise<void> {
    return this.#running.pause();
  }

  isPaused(): boolean {
    return this.#running.isPaused();
  }

  async resume(): Promise<void> {
    if (this.#running.isPaused()) await this.#wake();
  }

  /** From now on it is paused when it is idle, as its maker wished. */
  async sleepWhenIdle(): Promise<void> {
    if (this.record.pauseIdleMs !== undefined) await this.#running.sleepAfter(this.record.pauseIdleMs);
  }

  /** Asked for a call that gets no answer. A sandbox with a call is not idle, so one that sleeps all the same is woken. */
  async #staysPaused(): Promise<boolean> {
    if (!this.#running.isPaused()) return false;
    if ((await this.#running.usage()).pauseReason === "idle") await this.#wake();
    return true;
  }

  /** A sandbox that its deadline paused gets its full lifetime again, before it runs: what it has now is how long it may stay paused. */
  async #wake(): Promise<void> {
    const { pauseReason } = await this.#running.usage();
    if (pauseReason === "deadline") await this.extend(this.#lifetimeMs);
    await this.#running.resume();
  }

  /** Gives a sandbox in use its full time again, never less than it has, once less than this share of it is left. */
  async keepAlive(below = EXTEND_BELOW): Promise<void> {
    const lifetimeMs = this.#lifetimeMs;
    if (this.#deadlineMs - Date.now() >= lifetimeMs * below) return;
    const { deadline, pauseReason } = await this.#running.usage();
    // Whoever wakes it gives it its time.
    if (pauseReason === "deadline") return;
    this.#deadlineMs = deadline?.getTime() ?? Number.POSITIVE_INFINITY;
    if (this.#deadlineMs < Date.now() + lifetimeMs) await this.extend(lifetimeMs);
  }

  /** How far this process extends it while it is in use. */
  get lifetimeMs(): number {
    return this.#lifetimeMs;
  }

  /** It lives so long from now, and each later extension by this process is as long. */
  async liveFor(lifetimeMs: number): Promise<void> {
    await this.extend(lifetimeMs);
    this.#lifetimeMs = lifetimeMs;
  }

  async stop(): Promise<void> {
    const end = await this.#stopRun();
    await this.#keeping.bury(this, end);
    await this.#keeping.flush(this.record);
  }

  /** For those who write down at once how it goes on. If they do not, whoever looks next finds a run that was stopped. */
  async stopUnwritten(): Promise<SandboxEnd> {
    this.#isEndWritten = true;
    try {
      return await this.#stopRun();
    } catch (cause) {
      this.#isEndWritten = false;
      throw cause;
    }
  }

  /** Whether its end, if it was stopped, is written down by those who stopped it. */
  get isEndWritten(): boolean {
    return this.#isEndWritten;
  }

  async #stopRun(): Promise<SandboxEnd> {
    this.#end = await this.#running.stop();
    if (this.#end.kept) return this.#end;
    await this.#keeping.bury(this, this.#end);
    throw ended(this.record, this.#end.reason);
  }

  async start(signal: AbortSignal, principal?: Principal): Promise<LocalSandbox> {
    return this.#end ? this.#keeping.startAgain(this.record, signal, principal) : this;
  }

  async kill(): Promise<void> {
    this.#end = await this.#running.kill("killed");
    await this.#keeping.bury(this, this.#end);
    if (this.#end.kept) await this.#keeping.deleteStopped(this.record); // somebody stopped it first
  }

  async release(): Promise<void> {
    await this.#keeping.networks.letGo(this.#network);
    await this.#running.release();
  }
}
