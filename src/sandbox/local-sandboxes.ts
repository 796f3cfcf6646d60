import { BelljarError } from "../errors.ts";
import type { Egress } from "../network/egress.ts";
import type { NetworkPolicy } from "../network/policy.ts";
import type { SecretStore } from "../secrets/secret-store.ts";
import type { EndReason, Runtime, RunningSandbox, SandboxSpec } from "../runtime/runtime.ts";
import type { CreateRequest, SandboxDefaults } from "./create-request.ts";
import { parseCreateOptions } from "./create-request.ts";
import { CREATOR } from "./creator.ts";
import { grantedSandbox } from "./granted-sandbox.ts";
import { assertGranted, assertWithoutToken, assertWorkspaceGranted, cutLimits, requiredByGrant } from "./grants.ts";
import { DefaultSandboxes } from "./default-sandboxes.ts";
import type { JournalEntry } from "./journal.ts";
import { Journal } from "./journal.ts";
import { LiveSandboxes, notReady } from "./live-sandboxes.ts";
import type { LocalSandbox } from "./local-sandbox.ts";
import { mapLimit } from "../async/map-limit.ts";
import { HomeNetworks } from "./network/home-networks.ts";
import type { NetworkRecord } from "./network/prepare-network.ts";
import { beginNetwork, prepareNetwork, settleNetwork } from "./network/prepare-network.ts";
import { LiveQuota } from "./quota/live-quota.ts";
import { createSandboxId, isSandboxId, isShortId } from "./sandbox-id.ts";
import { matchesMetadata, matchesState } from "./sandbox-info.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { CreateOptions, DefaultSandbox, ListFilter, Principal, Quotas, Sandbox, SandboxInfo, Sandboxes } from "./sandbox.ts";
import { sweepHome } from "./sweep.ts";
import { checkWorkspace } from "./workspace/parse-workspace.ts";

/** How many folders are looked at together. */
const PARALLEL = 16;
/** How many sandboxes are asked together: those that do not answer must not hold the others up. */
const LOOKS = 64;
const SWEEP_EVERY_MS = 3_600_000;

export interface LocalSandboxesOptions {
  /** `$BELLJAR_HOME`, absolute. */
  readonly home: string;
  readonly runtime: Runtime;
  readonly config: { readonly sandbox: SandboxDefaults; readonly listMax: number; readonly tombstoneRetentionMs: number };
  /** What a sandbox may reach whose maker says nothing. Default: `none`. */
  readonly network?: NetworkPolicy;
  /**
   * The way out of the sandboxes that this process holds, or how to open it when it is first needed; it belongs to the caller.
   * Without one they can only have the policy `none`.
   */
  readonly egress?: Egress | (() => Promise<Egress>);
  /** For a principal whose token names none. Default: nothing is counted. */
  readonly quotas?: Quotas;
  /** Without it no sandbox can use secrets. */
  readonly secrets?: SecretStore;
  /** Told, in one sentence, what a person should know though no call fails: a corrupt record, a folder that cannot be cleared. */
  readonly report?: (problem: string) => void;
}

/** The sandboxes of a home on this host. Disposing it lets go of them and kills none. */
export interface LocalSandboxes extends Sandboxes, AsyncDisposable {
  /** Clears what is dead and forgets what is long gone; to be called at the start. */
  sweep(): Promise<void>;
  /**
   * Serves the networks of all live sandboxes of the home, whoever made them, until disposed; resolves when those that live now are
   * served. Of several processes that do, the guest lets one at a time.
   */
  serveNetworks(): Promise<void>;
  /** Live sandboxes that this process holds: all of the home once it serves their networks. */
  liveCount(): number;
}

export function createLocalSandboxes(options: LocalSandboxesOptions): LocalSandboxes {
  return new HomeSandboxes(options);
}

class HomeSandboxes implements LocalSandboxes {
  readonly #options: LocalSandboxesOptions;
  readonly #report: (problem: string) => void;
  readonly #journal: Journal;
  readonly #networks: HomeNetworks;
  readonly #live: LiveSandboxes;
  readonly #defaults: DefaultSandboxes;
  readonly #quota: LiveQuota;
  #sweptAtMs = Date.now();
  #sweeping: Promise<void> = Promise.resolve();

  constructor(options: LocalSandboxesOptions) {
    this.#options = options;
    this.#report = options.report ?? (() => undefined);
    this.#journal = new Journal(options.home, this.#report);
    const { home, egress, secrets, runtime } = options;
    this.#networks = new HomeNetworks({ home, report: this.#report, ...(egress && { egress }), ...(secrets && { secrets }) });
    this.#live = new LiveSandboxes({ runtime, journal: this.#journal, networks: this.#networks, report: this.#report });
    const { quotas: standard } = options;
    this.#quota = new LiveQuota({ home, journal: this.#journal, live: this.#live, ...(standard && { standard }) });
    this.#defaults = new DefaultSandboxes(options.home, {
      make: (principal, wishes, more) => this.#make(principal, wishes, more),
      find: (principal, id) => this.#findLive(principal, id),
    });
  }

  async create(principal: Principal, options: CreateOptions, signal: AbortSignal): Promise<Sandbox> {
    return grantedSandbox(await this.#make(principal, options, { signal }), principal);
  }

  async get(principal: Principal, id: string): Promise<Sandbox> {
    return grantedSandbox(await this.#open(await this.#find(principal, id)), principal);
  }

  async getLinked(id: string): Promise<Sandbox> {
    const held = this.#live.held(id);
    const entry = held ? { record: held.record } : isSandboxId(id) ? await this.#journal.read(id) : undefined;
    if (!entry) throw unknown(id);
    return this.#open(entry);
  }

  async #open({ record, end }: JournalEntry): Promise<LocalSandbox> {
    if (end) throw ended(record, end.reason);
    const sandbox = await this.#live.open(record);
    if (sandbox) return sandbox;
    const { endReason } = await this.#live.info(record);
    throw endReason ? ended(record, endReason) : notReady(record);
  }

  async info(principal: Principal, id: string): Promise<SandboxInfo> {
    const { record } = await this.#find(principal, id);
    return this.#live.info(record);
  }

  async list(principal: Principal, filter: ListFilter): Promise<readonly SandboxInfo[]> {
    const entries = await mapLimit(await this.#journal.ids(), PARALLEL, (id) => this.#listed(id, () => this.#journal.read(id)));
    const records = entries.flatMap((entry) => (entry && entry.record.owner === principal.id ? [entry.record] : []));
    const wanted = records.filter((record) => matchesMetadata(record, filter));
    const infos = await mapLimit(wanted, LOOKS, (record) => this.#listed(record.id, () => this.#live.findInfo(record)));
    return infos
      .flatMap((info) => (info && matchesState(info, filter) ? [info] : []))
      .toSorted((one, other) => other.createdAt.getTime() - one.createdAt.getTime())
      .slice(0, this.#options.config.listMax);
  }

  // eslint-disable-next-line max-params -- the contract's
  async default(principal: Principal, name: string, options: CreateOptions, signal: AbortSignal): Promise<DefaultSandbox> {
    const { sandbox, created } = await this.#defaults.get({ principal, name, options, signal });
    return { sandbox: await grantedSandbox(sandbox, principal), created };
  }

  sweep(): Promise<void> {
    this.#sweptAtMs = Date.now();
    const { tombstoneRetentionMs: retentionMs } = this.#options.config;
    this.#sweeping = sweepHome({ journal: this.#journal, live: this.#live, report: this.#report, retentionMs, now: this.#sweptAtMs });
    return this.#sweeping;
  }

  serveNetworks(): Promise<void> {
    return this.#networks.discover(async (id) => {
      const entry = await this.#journal.read(id);
      if (entry && !entry.end && this.#live.isOurs(entry.record)) await this.#live.open(entry.record);
    });
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
    await Promise.allSettled([this.#sweeping]);
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
    if (options.nestedFilters) assertWithoutToken("nestedFilters", principal);
    const { network: standard = "none", quotas } = this.#options;
    const limits = cutLimits(this.#options.config.sandbox, principal, quotas);
    const { required, ...request } = parseCreateOptions(options, limits);
    const network = await prepareNetwork(principal, options, { networks: this.#networks, standard });
    if (request.workspace) {
      assertWorkspaceGranted(request.workspace, principal);
      await checkWorkspace(request.workspace, this.#options.home);
    }
    const record = this.#newRecord(principal, { ...request, ...network }, defaultName);
    const needed = [...new Set([...required, ...requiredByGrant(principal)])];
    return this.#quota.admit(principal, record, () => this.#build(record, needed, signal));
  }

  async #build(record: SandboxRecord, required: SandboxSpec["required"], signal: AbortSignal): Promise<LocalSandbox> {
    this.#journal.write(record);
    this.#sweepIfDue();
    const first = await beginNetwork(record);
    const sandbox = await this.#live.hold(record, await this.#start(record, required, signal), first);
    await settleNetwork({ networks: this.#networks, record, guest: sandbox.guest }, first).catch(async (cause: unknown) => {
      await sandbox.kill();
      throw cause;
    });
    return sandbox;
  }

  async #start(record: SandboxRecord, required: SandboxSpec["required"], signal: AbortSignal): Promise<RunningSandbox> {
    const { id, template, limits, workspace, ephemeral, nestedFilters, deadline } = record;
    const spec = { id, folder: this.#journal.folder(id), template, hostname: id, limits, required, ephemeral, deadline };
    try {
      return await this.#options.runtime.create(
        { ...spec, ...(workspace && { workspace }), ...(nestedFilters && { nestedFilters }) },
        signal,
      );
    } catch (cause) {
      await this.#journal.remove(id);
      throw signal.aborted ? cancelled(signal) : cause;
    }
  }

  #newRecord(principal: Principal, request: Omit<CreateRequest, "required"> & NetworkRecord, defaultName?: string): SandboxRecord {
    const createdAt = new Date();
    return {
      version: 1,
      id: createSandboxId(),
      owner: principal.id,
      runtime: this.#options.runtime.name,
      createdAt,
      creator: CREATOR,
      deadline: new Date(createdAt.getTime() + request.timeoutMs),
      ...request,
      ...(defaultName !== undefined && { defaultName }),
    };
  }

  /** Somebody else's sandbox and none are the same answer. */
  async #find(principal: Principal, id: string): Promise<JournalEntry> {
    const held = this.#live.held(id);
    const entry = held ? { record: held.record } : await this.#read(principal, id);
    if (entry?.record.owner === principal.id) return entry;
    throw unknown(id);
  }

  #read(principal: Principal, id: string): Promise<JournalEntry | undefined> {
    if (isSandboxId(id)) return this.#journal.read(id);
    return isShortId(id) ? this.#readShort(principal, id) : Promise.resolve(undefined);
  }

  async #readShort(principal: Principal, shortId: string): Promise<JournalEntry | undefined> {
    const ids = (await this.#journal.ids()).filter((id) => id.startsWith(shortId));
    const entries = await mapLimit(ids, PARALLEL, (id) => this.#journal.read(id));
    const owned = entries.filter((entry) => entry?.record.owner === principal.id);
    if (owned.length > 1)
      throw new BelljarError("ARGUMENTS_INVALID", `The short id ${shortId} names ${owned.length} sandboxes: use the full id`);
    return owned[0];
  }

  async #findLive(principal: Principal, id: string): Promise<LocalSandbox | undefined> {
    const entry = await this.#journal.read(id);
    if (!entry || entry.end || entry.record.owner !== principal.id) return undefined;
    const sandbox = await this.#live.open(entry.record);
    if (!sandbox) await this.#live.settle(entry.record);
    return sandbox;
  }

  /** One that cannot be read or asked is reported and left out: the others are still to be seen. */
  async #listed<T>(id: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
      this.#report(`Sandbox ${id} is left out of the list: ${cause.message}`);
      return undefined;
    }
  }
}

function unknown(id: string): BelljarError {
  return new BelljarError(
    "SANDBOX_NOT_FOUND",
    `No sandbox ${JSON.stringify(id.slice(0, 40))}: list yours with the tool sandbox_list, or \`belljar sandbox list\``,
  );
}

function cancelled(signal: AbortSignal): BelljarError {
  return new BelljarError("CANCELLED", "The sandbox was not made: the call was cancelled", { cause: signal.reason });
}

function ended(record: SandboxRecord, reason: EndReason): BelljarError {
  return new BelljarError("SANDBOX_ENDED", `Sandbox ${record.id} has ended (${reason}): create another one`);
}
