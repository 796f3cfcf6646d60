import type { RunningSandbox, Runtime, TemplateInfo } from "../runtime/runtime.ts";
import { parseCreateOptions } from "./create-request.ts";
import { grantedSandbox, type OwnSandbox } from "./granted-sandbox.ts";
import { assertGranted, assertWithoutToken, assertWorkspaceGranted, cutLimits, requiredByGrant } from "./grants.ts";
import { DefaultSandboxes, type KeptDefault } from "./default-sandboxes.ts";
import { assertNameFree, findEntry, type Records } from "./find-entry.ts";
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
import { beginNetwork, prepareNetwork, settleNetwork } from "./network/prepare-network.ts";
import { newRecord } from "./new-record.ts";
import { LiveQuota } from "./quota/live-quota.ts";
import { mayReach } from "./reach.ts";
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
  StartedSandbox,
} from "./sandbox.ts";
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
  readonly #records: Records & DefaultHome;
  readonly #events: HomeEvents;
  readonly #defaults: DefaultSandboxes;
  readonly #quota: LiveQuota;
  readonly #kept: KeptSandboxes;
  readonly #bases: BaseTaker;
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
      kept: { facts: (id, end) => this.#kept.facts(id, end), noteStopped: (record) => this.#kept.noteStopped(record) },
    });
    this.#kept = this.#openKept();
    this.#records = { journal: this.#journal, live: this.#live };
    this.#events = new HomeEvents({ journal: this.#journal, report: this.#report, follow: (record) => this.#live.follow(record) });
    const { quotas: standard } = options;
    this.#quota = new LiveQuota({ home, journal: this.#journal, live: this.#live, ...(standard && { standard }) });
    this.#defaults = new DefaultSandboxes(options.home, {
      make: (principal, wishes, more) => this.#make(principal, wishes, more),
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
      remove: async (record, because) => this.#live.isOurs(record) && ends.removeKept(record, because),
      report: this.#report,
    });
  }

  async create(principal: Principal, options: CreateOptions, signal: AbortSignal): Promise<Sandbox> {
    return grantedSandbox(await this.#make(principal, options, { signal }), principal, this.#runtimes);
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

  async #open({ record, end }: JournalEntry): Promise<OwnSandbox> {
    if (end) throw ended(record, end.reason);
    const sandbox = await this.#live.open(record);
    if (sandbox) return sandbox;
    const { state, endReason } = await this.#live.info(record);
    if (state === "stopped") return stoppedSandbox(record, this.#live);
    throw endReason ? ended(record, endReason) : notReady(record);
  }

  /** A run counts against the quota of whoever starts it, as a new sandbox does. */
  async #startAgain(record: SandboxRecord, signal: AbortSignal, principal?: Principal): Promise<LocalSandbox> {
    const runtime = this.#runtimes.need(record);
    const starter = principal ?? { id: record.owner, name: record.owner };
    const required = requiredByGrant(starter);
    const start = () => this.#live.whileStarting(record, () => startAgain(this.#live, { record, runtime, required, signal }));
    const sandbox = await this.#quota.admitStart(starter, record, start);
    this.#kept.noteStarted(record.id);
    return sandbox;
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
    const sweep = { journal: this.#journal, live: this.#live, report: this.#report, retentionMs, now: this.#sweptAtMs };
    this.#sweeping = sweepHome(sweep).then(() => this.#kept.sweep());
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

  kept(): KeptTotals {
    return this.#kept.totals();
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
    await Promise.allSettled([
      this.#kept[Symbol.asyncDispose](),
      this.#sweeping,
      this.#events[Symbol.asyncDispose](),
      this.#bases[Symbol.asyncDispose](),
    ]);
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
    const onDeadline = options.onDeadline ?? (defaultName !== undefined && (await this.#keepsDefaults(runtime)) ? "stop" : undefined);
    const request = parseCreateOptions({ ...options, ...(onDeadline && { onDeadline }) }, limits);
    const network = await prepareNetwork(principal, options, { networks: this.#networks, standard });
    const { workspace } = options;
    if (workspace) {
      assertWorkspaceGranted(workspace, principal);
      await checkWorkspace(workspace, this.#options.home);
    }
    const inside = withWorkspace(await runtime.layers.describe({ template: request.template }), principal, workspace);
    const required = [...new Set([...request.required, ...requiredByGrant(principal)])];
    const record = newRecord(principal, { ...request, ...network, runtime: runtime.name, inside, required }, defaultName);
    return this.#quota.admit(principal, record, () => this.#live.whileStarting(record, () => this.#build(record, signal)));
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
      const spec = toSpec(this.#live.states.runOf(record, first), record, { deadline: record.deadline, deadlineAction: first.action });
      return await this.#runtimes.need(record).create(spec, signal);
    } catch (cause) {
      await this.#journal.remove(record.id);
      throw signal.aborted ? cancelled(signal) : cause;
    }
  }

  async #findRunning(principal: Principal, id: string): Promise<LocalSandbox | undefined> {
    const entry = await this.#journal.read(id);
    return entry && !entry.end && mayReach(principal, entry.record) ? this.#live.open(entry.record) : undefined;
  }

  async #keepsDefaults(runtime: Runtime): Promise<boolean> {
    return this.#options.config.sandbox.keep !== 0 && (await runtime.probe()).stop;
  }

  async #takeOver(sandbox: LocalSandbox): Promise<void> {
    const { record } = sandbox;
    if (record.onDeadline === undefined && (await this.#keepsDefaults(this.#runtimes.need(record)))) await keepAfterDeadline(sandbox);
  }
}
