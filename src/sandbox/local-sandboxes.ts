import type { RunningSandbox, TemplateInfo } from "../runtime/runtime.ts";
import { parseCreateOptions } from "./create-request.ts";
import { grantedSandbox, type OwnSandbox } from "./granted-sandbox.ts";
import { assertGranted, assertWithoutToken, assertWorkspaceGranted, cutLimits, requiredByGrant } from "./grants.ts";
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
import { beginNetwork, prepareNetwork, settleNetwork } from "./network/prepare-network.ts";
import { newRecord } from "./new-record.ts";
import { LiveQuota } from "./quota/live-quota.ts";
import { mayReach } from "./reach.ts";
import { PoolFiles } from "./pool/pool-files.ts";
import type { PoolCounts, PoolKind } from "./pool/pool-options.ts";
import { SandboxPool } from "./pool/sandbox-pool.ts";
import type { TakenSandbox } from "./pool/taken-sandbox.ts";
import { isSandboxId } from "./sandbox-id.ts";
import type { HostIsolation } from "./runtimes.ts";
import { Runtimes } from "./runtimes.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
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
} from "./sandbox.ts";
import { LOCAL } from "./sandbox.ts";
import { cancelled, ended, notReady, unknown } from "./refusals.ts";
import { firstRun } from "./run-states.ts";
import { startAgain } from "./start-again.ts";
import { stoppedSandbox } from "./stopped-sandbox.ts";
import { sweepHome } from "./sweep.ts";
import { toSpec } from "./to-spec.ts";
import { BaseTaker } from "./workspace/base/base-taker.ts";
import { checkWorkspace } from "./workspace/parse-workspace.ts";
import { withWorkspace } from "./workspace/workspace-place.ts";

const SWEEP_EVERY_MS = 3_600_000;

export function createLocalSandboxes(options: LocalSandboxesOptions): LocalSandboxes {
  return new HomeSandboxes(options);
}

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
  readonly #pool: SandboxPool | undefined;
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
      startAgain: (...request) => this.#startAgain(...request),
    });
    this.#records = { journal: this.#journal, live: this.#live };
    this.#events = new HomeEvents({ journal: this.#journal, report: this.#report, follow: (record) => this.#live.follow(record) });
    const { quotas: standard } = options;
    this.#quota = new LiveQuota({ home, journal: this.#journal, live: this.#live, ...(standard && { standard }) });
    const { pool } = options;
    const parts = { home, journal: this.#journal, runtimes: this.#runtimes, ends: this.#live.ends, report: this.#report };
    this.#pool = pool && new SandboxPool({ ...parts, pool, plan: (made) => this.#plan(made) });
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
  #startAgain(record: SandboxRecord, signal: AbortSignal, principal?: Principal): Promise<LocalSandbox> {
    const runtime = this.#runtimes.need(record);
    const starter = principal ?? { id: record.owner, name: record.owner };
    const required = requiredByGrant(starter);
    return this.#quota.admitStart(starter, record, () =>
      this.#live.whileStarting(record, () => startAgain(this.#live, { record, runtime, required, signal })),
    );
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
    this.#sweeping = sweepHome({ journal: this.#journal, live: this.#live, waiting, report: this.#report, retentionMs, now });
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
    await Promise.allSettled([this.#sweeping, this.#events[Symbol.asyncDispose](), this.#bases[Symbol.asyncDispose]()]);
    await this.#pool?.[Symbol.asyncDispose]();
    await this.#networks[Symbol.asyncDispose]();
    await this.#live[Symbol.asyncDispose]();
  }

  /** The record is on disk before the runtime makes the first process, so that whatever is left of a killed maker is found. */
  async #make(
    principal: Principal,
    options: CreateOptions,
    { defaultName, signal }: { readonly defaultName?: string; readonly signal: AbortSignal },
  ): Promise<LocalSandbox> {
    if (signal.aborted) throw cancelled(signal);
    assertGranted(options.limits ?? {}, principal);
    const runtime = this.#runtimes.choose(principal, options.runtime);
    if (options.nestedFilters) assertWithoutToken("nestedFilters", principal);
    const { network: standard = "none", quotas } = this.#options;
    const limits = cutLimits(this.#options.config.sandbox, principal, quotas);
    const request = parseCreateOptions(options, limits);
    const network = await prepareNetwork(principal, options, { networks: this.#networks, standard });
    const { workspace } = options;
    if (workspace) {
      assertWorkspaceGranted(workspace, principal);
      await checkWorkspace(workspace, this.#options.home);
    }
    const inside = withWorkspace(await runtime.layers.describe({ template: request.template }), principal, workspace);
    const required = [...new Set([...request.required, ...requiredByGrant(principal)])];
    const record = newRecord(principal, { ...request, ...network, runtime: runtime.name, inside, required }, defaultName);
    const make = (made: SandboxRecord, taken?: TakenSandbox): Promise<LocalSandbox> =>
      this.#quota.admit(principal, made, () => this.#live.whileStarting(made, () => this.#build(made, signal, taken)));
    return this.#pool ? this.#pool.create(record, make) : make(record);
  }

  /** The record of a sandbox that nobody has asked for yet, as a create of the local user would write it. */
  async #plan(options: PoolKind["options"]): Promise<SandboxRecord> {
    const runtime = this.#runtimes.choose(LOCAL, undefined);
    const { config, quotas } = this.#options;
    const request = parseCreateOptions({ ...options, bestEffort: true }, cutLimits(config.sandbox, LOCAL, quotas));
    const inside = await runtime.layers.describe({ template: request.template });
    return newRecord(LOCAL, { ...request, network: "none", runtime: runtime.name, inside });
  }

  /** `taken`: a sandbox that waited, which is this one from now on. */
  async #build(record: SandboxRecord, signal: AbortSignal, taken?: TakenSandbox): Promise<LocalSandbox> {
    if (taken) await taken.claim(record);
    else this.#journal.write(record);
    this.#sweepIfDue();
    const first = await beginNetwork(record);
    const sandbox = await this.#live.hold(record, await this.#start(record, signal, taken), first);
    try {
      await settleNetwork({ networks: this.#networks, record, guest: sandbox.guest }, first);
      await taken?.handOver(sandbox);
      this.#bases.begin(record);
    } catch (cause) {
      await sandbox.kill();
      throw cause;
    }
    this.#journal.announce(record.id);
    return sandbox;
  }

  async #start(record: SandboxRecord, signal: AbortSignal, taken?: TakenSandbox): Promise<RunningSandbox> {
    const first = firstRun(record);
    try {
      await assertNameFree(this.#records, record);
      if (taken) return await taken.start(record, this.#runtimes.need(record));
      const spec = toSpec(this.#live.states.runOf(record, first), record, { deadline: record.deadline, deadlineAction: first.action });
      return await this.#runtimes.need(record).create(spec, signal);
    } catch (cause) {
      if (!taken || (await taken.discard())) await this.#journal.remove(record.id);
      throw signal.aborted ? cancelled(signal) : cause;
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
    return end.kept ? this.#startAgain(entry.record, signal, principal) : undefined;
  }
}
