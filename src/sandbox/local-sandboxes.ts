import { HomeVolumes } from "./volumes/home-volumes.ts";
import type { TemplateInfo } from "../runtime/contract/layer-store.ts";
import { createdSandbox, grantedSandbox } from "./granted-sandbox.ts";
import { requiredByGrant } from "./grants.ts";
import { DefaultSandboxes, type KeptDefault } from "./default-sandboxes.ts";
import { findEntry, type Records } from "./find-entry.ts";
import { HomeEvents } from "./events/home-events.ts";
import { type DefaultHome, findDefault, keepAfterDeadline } from "./keeping/find-default.ts";
import { KeptSandboxes, type KeptTotals } from "./keeping/kept-sandboxes.ts";
import type { LocalSandboxes, LocalSandboxesOptions } from "./local-sandboxes-options.ts";
import type { JournalEntry } from "./journal.ts";
import { Journal } from "./journal.ts";
import { listSandboxes } from "./list-sandboxes.ts";
import { LiveSandboxes } from "./live-sandboxes.ts";
import type { LocalSandbox } from "./local-sandbox.ts";
import { HomeNetworks } from "./network/home-networks.ts";
import type { NetworkPolicy } from "../network/policy.ts";
import type { NetworkState } from "./network/network-state.ts";
import { prepareNetwork } from "./network/prepare-network.ts";
import { LiveQuota } from "./quota/live-quota.ts";
import { mayReach } from "./reach.ts";
import { PoolFiles } from "./pool/pool-files.ts";
import type { PoolCounts } from "./pool/pool-options.ts";
import { SandboxPool } from "./pool/sandbox-pool.ts";
import { isSandboxId } from "./sandbox-id.ts";
import type { HostIsolation } from "./runtimes.ts";
import { Runtimes } from "./runtimes.ts";
import { SandboxMaker } from "./sandbox-maker.ts";
import type { OwnSandbox } from "./own-sandbox.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { SnapshotRecord } from "./state/snapshot-record.ts";
import type {
  CreatedSandbox,
  CreateOptions,
  DefaultOptions,
  DefaultSandbox,
  ListOptions,
  Principal,
  Sandbox,
  SandboxEvent,
  SandboxInfo,
  SandboxPage,
  Snapshots,
  StartedSandbox,
} from "./sandbox.ts";
import { cancelled, ended, notReady, unknown } from "./refusals.ts";
import type { HiddenSnapshots } from "./state/hidden-snapshots.ts";
import type { FrozenStep, HeldSnapshot } from "./state/home-snapshots.ts";
import { HomeStates } from "./state/home-states.ts";
import { toForkOptions } from "./state/inherited-options.ts";
import { lateComparison } from "./state/comparison.ts";
import type { StartRun } from "./state/rollback.ts";
import { beginAgain, startAgain, type StartedRun } from "./start-again.ts";
import { stoppedSandbox } from "./stopped-sandbox.ts";
import { sweepHome } from "./sweep.ts";
import { BaseTaker } from "./workspace/base/base-taker.ts";

const SWEEP_EVERY_MS = 3_600_000;

export function createLocalSandboxes(options: LocalSandboxesOptions): LocalSandboxes {
  return new HomeSandboxes(options);
}

type Starting = Omit<Parameters<StartRun>[1], "prepare"> & Partial<Pick<Parameters<StartRun>[1], "prepare">>;

class HomeSandboxes implements LocalSandboxes {
  readonly #options: LocalSandboxesOptions;
  readonly #report: (problem: string) => void;
  readonly #journal: Journal;
  readonly volumes: HomeVolumes;
  readonly #networks: HomeNetworks;
  readonly #runtimes: Runtimes;
  readonly #live: LiveSandboxes;
  readonly #records: Records & DefaultHome;
  readonly #events: HomeEvents;
  readonly #defaults: DefaultSandboxes;
  readonly #quota: LiveQuota;
  readonly #kept: KeptSandboxes;
  readonly #bases: BaseTaker;
  readonly #states: HomeStates;
  readonly #pool: SandboxPool | undefined;
  readonly #maker: SandboxMaker;
  #sweptAtMs = Date.now();
  #sweeping: Promise<void> = Promise.resolve();

  constructor(options: LocalSandboxesOptions) {
    this.#options = options;
    this.#report = options.report ?? (() => undefined);
    this.#journal = new Journal(options.home, this.#report);
    this.#bases = new BaseTaker((id) => this.#journal.folder(id), this.#report);
    const { home, egress, secrets, refusals } = options;
    this.#runtimes = new Runtimes(options.runtimes, options.config);
    this.volumes = new HomeVolumes({
      home,
      runtimes: options.runtimes,
      choose: (principal) => this.#runtimes.choose(principal),
      records: () => this.#unended(),
    });
    const changed = (id: string): void => this.#journal.announce(id);
    const given = { ...(egress && { egress }), ...(secrets && { secrets }), ...(refusals && { refusals }) };
    this.#networks = new HomeNetworks({ home, report: this.#report, changed, ...given });
    this.#live = new LiveSandboxes({
      runtimes: this.#runtimes,
      journal: this.#journal,
      networks: this.#networks,
      bases: this.#bases,
      report: this.#report,
      mountsOf: (record) => this.volumes.mountsOf(record),
      startAgain: (record, signal, principal) => this.#startAgain(record, { signal, ...(principal && { principal }) }),
      timeLine: (record) => this.#states.timeLine(record),
      isRolledBack: (record) => this.#states.isRolledBack(record),
      forgetStates: (record) => this.#states.forget(record),
      kept: {
        entries: () => this.#kept.entries(),
        facts: (end, entry) => this.#kept.facts(end, entry),
        noteStopped: (record) => this.#kept.noteStopped(record),
      },
    });
    this.#kept = this.#openKept();
    this.#records = { journal: this.#journal, live: this.#live };
    this.#events = new HomeEvents({ journal: this.#journal, report: this.#report, follow: (record) => this.#live.follow(record) });
    const { quotas: standard } = options;
    this.#states = new HomeStates({
      home,
      journal: this.#journal,
      live: this.#live,
      runtimes: this.#runtimes,
      records: this.#records,
      report: this.#report,
      ...(standard && { quotas: standard }),
      settings: options.config.sandbox,
      comparison: lateComparison(options.texts),
      templates: options.templates,
      beforeFreeze: options.beforeFreeze,
      make: async (principal, source, wishes, signal) => {
        const sandbox = await this.#maker.make(principal, toForkOptions(source, wishes), { forkOf: source, signal });
        return grantedSandbox(sandbox, principal, this.#runtimes);
      },
      startRun: (...request) => this.#startRun(...request),
      snapshotRetired: (snapshot) => this.#endWaiting(snapshot),
    });
    this.#quota = new LiveQuota({ home, journal: this.#journal, live: this.#live, ...(standard && { standard }) });
    const { pool } = options;
    const parts = { home, journal: this.#journal, runtimes: this.#runtimes, ends: this.#live.ends, report: this.#report };
    const hasSnapshot = (id: string): Promise<boolean> => this.#states.hidden.has(id);
    this.#pool = pool && new SandboxPool({ ...parts, pool, hasSnapshot, plan: (made) => this.#maker.plan(made) });
    this.#maker = this.#openMaker();
    this.#defaults = new DefaultSandboxes(options.home, {
      make: (principal, wishes, more) => this.#maker.make(principal, wishes, more),
      find: (request, id) => findDefault(this.#records, request, id),
      findRunning: (principal, id) => this.#findRunning(principal, id),
      takeOver: (sandbox) => this.#takeOver(sandbox),
      isBuried: (id) => this.#journal.isBuried(id),
    });
  }

  #openKept(): KeptSandboxes {
    const { home, config } = this.#options;
    const { states, ends } = this.#live;
    return new KeptSandboxes({
      home,
      limits: config.sandbox,
      journal: this.#journal,
      states,
      measure: async (record, run, signal) => this.#runtimes.of(record)?.layers.measure(run, signal),
      remove: async (record, because, isMeant) => this.#live.isOurs(record) && ends.removeKept(record, because, isMeant),
      report: this.#report,
    });
  }

  #openMaker(): SandboxMaker {
    return new SandboxMaker({
      home: this.#options,
      journal: this.#journal,
      live: this.#live,
      records: this.#records,
      networks: this.#networks,
      runtimes: this.#runtimes,
      quota: this.#quota,
      states: this.#states,
      volumes: this.volumes,
      bases: this.#bases,
      pool: () => this.#pool,
      begins: () => this.#sweepIfDue(),
    });
  }

  async create(principal: Principal, options: CreateOptions, signal: AbortSignal): Promise<CreatedSandbox> {
    if (signal.aborted) throw cancelled(signal);
    const { record, source } = await this.#maker.toRecord({ principal, options });
    const lost = source && !source.isHidden ? await this.#states.snapshots.tellLost(source, signal) : undefined;
    const from = source?.isHidden ? { id: source.id, keepsReady: options.keepsReady } : undefined;
    return createdSandbox({ sandbox: await this.#maker.makeOf(record, principal, { signal, from }), lost }, principal, this.#runtimes);
  }

  async get(principal: Principal, id: string): Promise<Sandbox> {
    return grantedSandbox(await this.#open(await findEntry(this.#records, principal, id)), principal, this.#runtimes);
  }

  async getStarted(principal: Principal, id: string, signal: AbortSignal): Promise<StartedSandbox> {
    const sandbox = await this.get(principal, id);
    if (sandbox.ended) return { sandbox };
    const started = await sandbox.start(signal);
    const stopped = await started.lastStop?.();
    return { sandbox: started, ...(stopped && { stopped }) };
  }

  async getLinked(id: string): Promise<Sandbox> {
    const held = this.#live.held(id);
    const entry = held ? { record: held.record } : isSandboxId(id) ? await this.#journal.read(id) : undefined;
    if (!entry) throw unknown(id);
    return this.#open(entry);
  }

  async labelsOf(id: string): Promise<SandboxInfo["metadata"] | undefined> {
    const { record } = this.#live.held(id) ?? { record: isSandboxId(id) ? await this.#journal.readRecord(id) : undefined };
    return record?.metadata;
  }

  async linkedIds(): Promise<readonly string[]> {
    return this.#journal.unendedIds();
  }

  async #open({ record, end }: JournalEntry): Promise<OwnSandbox> {
    if (end) throw ended(record, end.reason);
    const sandbox = await this.#live.open(record);
    if (sandbox) return sandbox;
    const { state, endReason } = await this.#live.info(record);
    if (state === "stopped") return stoppedSandbox(record, this.#live);
    throw endReason ? ended(record, endReason) : notReady(record);
  }

  async #startAgain(record: SandboxRecord, starting: Starting): Promise<LocalSandbox> {
    return beginAgain(await this.#startRun(record, starting), { signal: starting.signal, report: this.#report });
  }

  /** A run counts against the quota of whoever starts it, as a new sandbox does. */
  async #startRun(record: SandboxRecord, { signal, principal, prepare }: Starting): Promise<StartedRun> {
    const runtime = this.#runtimes.need(record);
    const starter = principal ?? { id: record.owner, name: record.owner };
    const request = { record, runtime, required: requiredByGrant(starter), signal, work: this.#states };
    const started = await this.#quota.admitStart(starter, record, () =>
      this.#live.whileStarting(record, async () => startAgain(this.#live, { ...request, wishes: await prepare?.() })),
    );
    this.#kept.noteStarted(record.id);
    return started;
  }

  async networkOf(
    principal: Principal,
    policy?: NetworkPolicy,
    { isPublicOnly = false }: { readonly isPublicOnly?: boolean | undefined } = {},
  ): Promise<Pick<NetworkState, "policy" | "inside">> {
    const { network: standard = "none" } = this.#options;
    const wish = { isPublicOnly, ...(policy !== undefined && { network: policy }) };
    const { network, networkInside: inside } = await prepareNetwork(principal, wish, { networks: this.#networks, standard });
    return { policy: network, ...(inside !== undefined && { inside }) };
  }

  holdForTemplate(principal: Principal, snapshot: string, user: string, signal: AbortSignal): Promise<HeldSnapshot> {
    return this.#states.snapshots.holdForTemplate(principal, snapshot, user, signal);
  }

  // eslint-disable-next-line max-params -- the contract's
  freezeForTemplate(principal: Principal, sandbox: string, user: string, signal: AbortSignal): Promise<FrozenStep> {
    return this.#states.snapshots.freezeForTemplate(principal, sandbox, user, signal);
  }

  get hiddenSnapshots(): HiddenSnapshots {
    return this.#states.hidden;
  }

  get snapshots(): Snapshots {
    return this.#states.snapshots;
  }

  async info(principal: Principal, id: string): Promise<SandboxInfo> {
    const { record } = await findEntry(this.#records, principal, id);
    return this.#live.info(record);
  }

  list(principal: Principal, options: ListOptions = {}): Promise<SandboxPage> {
    const home = { journal: this.#journal, live: this.#live, listMax: this.#options.config.listMax, report: this.#report };
    return listSandboxes(home, principal, options);
  }

  events(principal: Principal, signal: AbortSignal): AsyncIterable<SandboxEvent> {
    return this.#events.read(principal, signal);
  }

  // eslint-disable-next-line max-params -- the contract's
  async default(principal: Principal, name: string, options: DefaultOptions, signal: AbortSignal): Promise<DefaultSandbox> {
    const { sandbox, ...made } = await this.#defaults.get({ principal, name, options, signal });
    return { sandbox: await grantedSandbox(sandbox, principal, this.#runtimes), ...made };
  }

  keepDefault(principal: Principal, name: string, options: DefaultOptions): Promise<KeptDefault | undefined> {
    return this.#defaults.keep({ principal, name, options });
  }

  sweep(): Promise<void> {
    this.#sweptAtMs = Date.now();
    const { tombstoneRetentionMs: retentionMs } = this.#options.config;
    const [waiting, now] = [new PoolFiles(this.#options.home), this.#sweptAtMs];
    const sweep = { journal: this.#journal, live: this.#live, states: this.#states, waiting, report: this.#report, retentionMs, now };
    this.#sweeping = sweepHome(sweep)
      .then(() => this.#kept.sweep())
      .then(() => this.volumes.sweep().catch((cause: unknown) => this.#report(`Volumes cannot be swept: ${String(cause)}`)))
      .then(() => this.#runtimes.tend());
    return this.#sweeping;
  }

  serveNetworks(): Promise<void> {
    return this.#networks.discover(async (id) => {
      const entry = await this.#journal.read(id);
      if (entry && !entry.end && this.#live.isOurs(entry.record)) await this.#live.open(entry.record);
    });
  }

  isolation(): Promise<HostIsolation> {
    return this.#runtimes.probe();
  }

  async templates(principal: Principal): Promise<readonly TemplateInfo[]> {
    const own = await this.#runtimes.templates(principal);
    const made = (await this.#options.templates?.list(principal)) ?? [];
    return [...own, ...made.filter(({ name }) => own.every((one) => one.name !== name))];
  }

  kept(): KeptTotals {
    return this.#kept.totals();
  }

  liveCount(): number {
    return this.#live.count;
  }

  beginPool(): void {
    this.#pool?.begin();
  }

  poolCounts(): readonly PoolCounts[] {
    return this.#pool?.counts() ?? [];
  }

  /** A server that runs for weeks forgets old tombstones too. */
  #sweepIfDue(): void {
    if (Date.now() - this.#sweptAtMs < SWEEP_EVERY_MS) return;
    this.sweep().catch((cause: unknown) => this.#report(`The home ${this.#options.home} cannot be swept: ${String(cause)}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([
      this.#states[Symbol.asyncDispose](),
      this.#kept[Symbol.asyncDispose](),
      this.#sweeping,
      this.#events[Symbol.asyncDispose](),
      this.#bases[Symbol.asyncDispose](),
    ]);
    await this.#pool?.[Symbol.asyncDispose]();
    await this.#networks[Symbol.asyncDispose]();
    await this.#live[Symbol.asyncDispose]();
  }

  async #endWaiting(snapshot: SnapshotRecord): Promise<void> {
    const failed = (cause: unknown) => this.#report(`What waits of the snapshot ${snapshot.id} cannot be ended yet: ${String(cause)}`);
    await this.#pool?.retire(snapshot).catch(failed);
  }

  async #unended(): Promise<readonly SandboxRecord[]> {
    const records = await Promise.all((await this.#journal.unendedIds()).map((id) => this.#journal.readRecord(id)));
    return records.filter((record) => record !== undefined);
  }

  async #findRunning(principal: Principal, id: string): Promise<LocalSandbox | undefined> {
    const entry = await this.#journal.read(id);
    return entry && !entry.end && mayReach(principal, entry.record) ? this.#live.open(entry.record) : undefined;
  }

  async #takeOver(sandbox: LocalSandbox): Promise<void> {
    const { record } = sandbox;
    if (record.onDeadline === undefined && (await this.#maker.keepsDefaults(this.#runtimes.need(record)))) await keepAfterDeadline(sandbox);
  }
}
