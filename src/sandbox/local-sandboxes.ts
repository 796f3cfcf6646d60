import { BelljarError } from "../errors.ts";
import type { RunningSandbox, TemplateInfo } from "../runtime/runtime.ts";
import { grantedSandbox } from "./granted-sandbox.ts";
import { requiredByGrant } from "./grants.ts";
import { makeRecord, type MakeRecordParts } from "./make-record.ts";
import { type DefaultRequest, DefaultSandboxes, type KeptDefault } from "./default-sandboxes.ts";
import { assertNameFree, findEntry, type Records } from "./find-entry.ts";
import { HomeEvents } from "./events/home-events.ts";
import type { LocalSandboxes, LocalSandboxesOptions } from "./local-sandboxes-options.ts";
import type { JournalEntry } from "./journal.ts";
import { Journal } from "./journal.ts";
import { listSandboxes } from "./list-sandboxes.ts";
import { LiveSandboxes } from "./live-sandboxes.ts";
import type { LocalSandbox } from "./local-sandbox.ts";
import { HomeNetworks } from "./network/home-networks.ts";
import { beginNetwork, settleNetwork } from "./network/prepare-network.ts";
import { LiveQuota } from "./quota/live-quota.ts";
import { mayReach } from "./reach.ts";
import { isSandboxId } from "./sandbox-id.ts";
import type { HostIsolation } from "./runtimes.ts";
import { Runtimes } from "./runtimes.ts";
import type { OwnSandbox } from "./own-sandbox.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { SnapshotRecord } from "./state/snapshot-record.ts";
import type {
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
} from "./sandbox.ts";
import { cancelled, ended, notReady, unknown } from "./refusals.ts";
import { firstRun } from "./run-states.ts";
import { HomeStates } from "./state/home-states.ts";
import { toForkOptions } from "./state/inherited-options.ts";
import { lateComparison } from "./state/comparison.ts";
import type { StartRun } from "./state/rollback.ts";
import { noSnapshot } from "./state/state-errors.ts";
import { startAgain } from "./start-again.ts";
import { stoppedSandbox } from "./stopped-sandbox.ts";
import { sweepHome } from "./sweep.ts";
import { toSpec } from "./to-spec.ts";
import { BaseTaker } from "./workspace/base/base-taker.ts";

const SWEEP_EVERY_MS = 3_600_000;

export function createLocalSandboxes(options: LocalSandboxesOptions): LocalSandboxes {
  return new HomeSandboxes(options);
}

interface MakeMore {
  readonly defaultName?: string;
  readonly forkOf?: SnapshotRecord;
  readonly signal: AbortSignal;
}

type Starting = Omit<Parameters<StartRun>[1], "prepare"> & Partial<Pick<Parameters<StartRun>[1], "prepare">>;

class HomeSandboxes implements LocalSandboxes {
  readonly #options: LocalSandboxesOptions;
  readonly #report: (problem: string) => void;
  readonly #journal: Journal;
  readonly #networks: HomeNetworks;
  readonly #runtimes: Runtimes;
  readonly #live: LiveSandboxes;
  readonly #records: Records;
  readonly #events: HomeEvents;
  readonly #defaults: DefaultSandboxes;
  readonly #quota: LiveQuota;
  readonly #bases: BaseTaker;
  readonly #states: HomeStates;
  #sweptAtMs = Date.now();
  #sweeping: Promise<void> = Promise.resolve();

  constructor(options: LocalSandboxesOptions) {
    this.#options = options;
    this.#report = options.report ?? (() => undefined);
    this.#journal = new Journal(options.home, this.#report);
    this.#bases = new BaseTaker((id) => this.#journal.folder(id), this.#report);
    const { home, egress, secrets, refusals } = options;
    this.#runtimes = new Runtimes(options.runtimes, options.config);
    const changed = (id: string): void => this.#journal.announce(id);
    const given = { ...(egress && { egress }), ...(secrets && { secrets }), ...(refusals && { refusals }) };
    this.#networks = new HomeNetworks({ home, report: this.#report, changed, ...given });
    this.#live = new LiveSandboxes({
      runtimes: this.#runtimes,
      journal: this.#journal,
      networks: this.#networks,
      bases: this.#bases,
      report: this.#report,
      startAgain: (record, signal, principal) => this.#startAgain(record, { signal, ...(principal && { principal }) }),
      timeLine: (record) => this.#states.timeLine(record),
      isRolledBack: (record) => this.#states.isRolledBack(record),
      forgetStates: (record) => this.#states.forget(record),
    });
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
      comparison: lateComparison(options.texts),
      make: async (principal, source, wishes, signal) => {
        const sandbox = await this.#make(principal, toForkOptions(source, wishes), { forkOf: source, signal });
        return grantedSandbox(sandbox, principal, this.#runtimes);
      },
      startRun: (...request) => this.#startAgain(...request),
    });
    this.#quota = new LiveQuota({ home, journal: this.#journal, live: this.#live, ...(standard && { standard }) });
    this.#defaults = new DefaultSandboxes(options.home, {
      make: (principal, wishes, more) => this.#make(principal, wishes, more),
      find: (request, id) => this.#findLive(request, id),
      findRunning: (principal, id) => this.#findRunning(principal, id),
      isBuried: (id) => this.#journal.isBuried(id),
    });
  }

  async create(principal: Principal, options: CreateOptions, signal: AbortSignal): Promise<Sandbox> {
    return grantedSandbox(await this.#make(principal, options, { signal }), principal, this.#runtimes);
  }

  async get(principal: Principal, id: string): Promise<Sandbox> {
    return grantedSandbox(await this.#open(await findEntry(this.#records, principal, id)), principal, this.#runtimes);
  }

  async getLinked(id: string): Promise<Sandbox> {
    const held = this.#live.held(id);
    const entry = held ? { record: held.record } : isSandboxId(id) ? await this.#journal.read(id) : undefined;
    if (!entry) throw unknown(id);
    return this.#open(entry);
  }

  async #open({ record, end }: JournalEntry): Promise<OwnSandbox> {
    if (end) throw ended(record, end.reason);
    const sandbox = await this.#live.open(record);
    if (sandbox) return sandbox;
    const { state, endReason } = await this.#live.info(record);
    if (state === "stopped") return stoppedSandbox(record, this.#live);
    throw endReason ? ended(record, endReason) : notReady(record);
  }

  /** A run counts against the quota of whoever starts it, as a new sandbox does. */
  #startAgain(record: SandboxRecord, { signal, principal, prepare }: Starting): Promise<LocalSandbox> {
    const runtime = this.#runtimes.need(record);
    const starter = principal ?? { id: record.owner, name: record.owner };
    const request = { record, runtime, required: requiredByGrant(starter), signal, work: this.#states };
    return this.#quota.admitStart(starter, record, () =>
      this.#live.whileStarting(record, async () => startAgain(this.#live, { ...request, wishes: await prepare?.() })),
    );
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
    this.#sweeping = sweepHome({
      journal: this.#journal,
      live: this.#live,
      states: this.#states,
      report: this.#report,
      retentionMs,
      now: this.#sweptAtMs,
    });
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

  templates(principal: Principal): Promise<readonly TemplateInfo[]> {
    return this.#runtimes.templates(principal);
  }

  liveCount(): number {
    return this.#live.count;
  }

  /** A server that runs for weeks forgets old tombstones too. */
  #sweepIfDue(): void {
    if (Date.now() - this.#sweptAtMs < SWEEP_EVERY_MS) return;
    this.sweep().catch((cause: unknown) => this.#report(`The home ${this.#options.home} cannot be swept: ${String(cause)}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([this.#sweeping, this.#events[Symbol.asyncDispose](), this.#bases[Symbol.asyncDispose]()]);
    await this.#networks[Symbol.asyncDispose]();
    await this.#live[Symbol.asyncDispose]();
  }

  /** The record is on disk before the runtime makes the first process, so that whatever is left of a killed maker is found. */
  async #make(principal: Principal, options: CreateOptions, { defaultName, forkOf, signal }: MakeMore): Promise<LocalSandbox> {
    if (signal.aborted) throw cancelled(signal);
    const record = await makeRecord(this.#parts(), { principal, options, defaultName, forkOf });
    return this.#quota.admit(principal, record, () => this.#live.whileStarting(record, () => this.#build(record, signal)));
  }

  #parts(): MakeRecordParts {
    const { home, config, network: standardNetwork = "none", quotas } = this.#options;
    const findSnapshot = this.#states.snapshots.findTemplate.bind(this.#states.snapshots);
    return { home, quotas, standardNetwork, findSnapshot, runtimes: this.#runtimes, networks: this.#networks, defaults: config.sandbox };
  }

  async #build(record: SandboxRecord, signal: AbortSignal): Promise<LocalSandbox> {
    this.#journal.write(record);
    this.#sweepIfDue();
    const first = await beginNetwork(record);
    const sandbox = await this.#live.hold(record, await this.#start(record, signal), first);
    try {
      await settleNetwork({ networks: this.#networks, record, guest: sandbox.guest }, first);
      this.#bases.begin(record);
    } catch (cause) {
      await sandbox.kill();
      throw cause;
    }
    this.#journal.announce(record.id);
    return sandbox;
  }

  async #start(record: SandboxRecord, signal: AbortSignal): Promise<RunningSandbox> {
    const first = firstRun(record);
    try {
      await assertNameFree(this.#records, record);
      await this.#states.holdOrigin(record);
      const spec = toSpec(this.#live.states.runOf(record, first), record, { deadline: record.deadline, deadlineAction: first.action });
      return await this.#runtimes.need(record).create(spec, signal);
    } catch (cause) {
      await this.#journal.remove(record.id);
      await this.#states.letGoOfOrigin(record);
      throw signal.aborted ? cancelled(signal) : (asMissing(record, cause) ?? cause);
    }
  }

  async #findRunning(principal: Principal, id: string): Promise<LocalSandbox | undefined> {
    const entry = await this.#journal.read(id);
    return entry && !entry.end && mayReach(principal, entry.record) ? this.#live.open(entry.record) : undefined;
  }

  /** A stopped one is started again. Undefined once it has ended; as long as that is not known no other one takes its place. */
  async #findLive({ principal, signal }: Pick<DefaultRequest, "principal" | "signal">, id: string): Promise<LocalSandbox | undefined> {
    const entry = await this.#journal.read(id);
    if (!entry || entry.end || !mayReach(principal, entry.record)) return undefined;
    const sandbox = await this.#live.open(entry.record);
    if (sandbox) return sandbox;
    const end = await this.#live.ends.settle(entry.record);
    if (!end) throw notReady(entry.record);
    return end.kept ? this.#startAgain(entry.record, { signal, principal }) : undefined;
  }
}

/** A snapshot may be removed while a sandbox is made of it. */
function asMissing({ lineage }: SandboxRecord, cause: unknown): BelljarError | undefined {
  const isMissing = lineage !== undefined && cause instanceof BelljarError && cause.code === "SANDBOX_FILES_LOST";
  return isMissing ? noSnapshot(lineage[0]?.sandbox ?? "", cause) : undefined;
}
