import { BelljarError } from "../errors.ts";
import type { RunningSandbox } from "../runtime/contract/run.ts";
import type { Runtime } from "../runtime/contract/runtime.ts";
import { assertNameFree, type Records } from "./find-entry.ts";
import type { Journal } from "./journal.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import type { LocalSandbox } from "./local-sandbox.ts";
import type { LocalSandboxesOptions } from "./local-sandboxes-options.ts";
import { type MadeRecord, makeRecord, type MakeRecordParts, type MakeWishes } from "./make-record.ts";
import type { HomeNetworks } from "./network/home-networks.ts";
import { beginNetwork, settleNetwork } from "./network/prepare-network.ts";
import type { SnapshotOfCreate } from "./pool/passing-kinds.ts";
import type { PoolKind } from "./pool/pool-options.ts";
import type { SandboxPool } from "./pool/sandbox-pool.ts";
import type { TakenSandbox } from "./pool/taken-sandbox.ts";
import type { LiveQuota } from "./quota/live-quota.ts";
import { cancelled } from "./refusals.ts";
import { firstRun } from "./run-states.ts";
import type { Runtimes } from "./runtimes.ts";
import type { CreateOptions, Principal } from "./sandbox.ts";
import { LOCAL } from "./sandbox.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import { runStartCommand } from "./start-command.ts";
import type { HomeStates } from "./state/home-states.ts";
import type { SnapshotRecord } from "./state/snapshot-record.ts";
import { toSpec } from "./to-spec.ts";
import type { HomeVolumes } from "./volumes/home-volumes.ts";
import type { BaseTaker } from "./workspace/base/base-taker.ts";

export interface SandboxMakerOptions {
  readonly home: Pick<LocalSandboxesOptions, "home" | "config" | "network" | "quotas" | "templates">;
  readonly journal: Journal;
  readonly live: LiveSandboxes;
  readonly records: Records;
  readonly networks: HomeNetworks;
  readonly runtimes: Runtimes;
  readonly quota: LiveQuota;
  readonly states: HomeStates;
  readonly volumes: HomeVolumes;
  readonly bases: BaseTaker;
  /** Asked late: what it keeps ready is planned here. */
  readonly pool: () => SandboxPool | undefined;
  /** Runs with each sandbox that is made. */
  readonly begins: () => void;
}

export interface MakeMore {
  readonly defaultName?: string;
  readonly forkOf?: SnapshotRecord;
  readonly signal: AbortSignal;
}

interface MakeFrom extends Pick<MakeMore, "signal"> {
  /** The hidden snapshot that it begins with. */
  readonly from?: SnapshotOfCreate | undefined;
}

/** Makes the sandboxes of a home, anew or of those that wait. */
export class SandboxMaker {
  readonly #options: SandboxMakerOptions;

  constructor(options: SandboxMakerOptions) {
    this.#options = options;
  }

  async make(principal: Principal, options: CreateOptions, { defaultName, forkOf, signal }: MakeMore): Promise<LocalSandbox> {
    if (signal.aborted) throw cancelled(signal);
    const { record } = await this.toRecord({ principal, options, defaultName, forkOf });
    return this.makeOf(record, principal, { signal });
  }

  /** What a create would write. Nothing is made yet. */
  toRecord(wishes: MakeWishes): Promise<MadeRecord> {
    return makeRecord(this.#parts(), wishes);
  }

  /** The record of a sandbox that nobody has asked for yet, as a create of the local user would write it. */
  async plan(options: PoolKind["options"]): Promise<SandboxRecord> {
    const wishes = { principal: LOCAL, options: { ...options, bestEffort: true, network: "none" } } as const;
    return (await this.toRecord(wishes)).record;
  }

  /** The record is on disk before the runtime makes the first process, so that whatever is left of a killed maker is found. */
  async makeOf(record: SandboxRecord, principal: Principal, { signal, from }: MakeFrom): Promise<LocalSandbox> {
    const { quota, live, pool } = this.#options;
    const make = (made: SandboxRecord, taken?: TakenSandbox): Promise<LocalSandbox> =>
      quota.admit(principal, made, () => live.whileStarting(made, () => this.#build(made, signal, taken)));
    const waiting = pool();
    return waiting ? waiting.create(record, make, from) : make(record);
  }

  /** Default sandboxes of this runtime are stopped at their deadline, and kept. */
  async keepsDefaults(runtime: Runtime): Promise<boolean> {
    return this.#options.home.config.sandbox.keep !== 0 && (await runtime.probe()).stop;
  }

  #parts(): MakeRecordParts {
    const { runtimes, networks, volumes, states } = this.#options;
    const { home, config, network: standardNetwork = "none", quotas, templates } = this.#options.home;
    const { snapshots, hidden } = states;
    const findSnapshot = snapshots.findTemplate.bind(snapshots);
    const findHidden = hidden.find.bind(hidden);
    return {
      home,
      runtimes,
      networks,
      defaults: config.sandbox,
      templates,
      volumes,
      quotas,
      standardNetwork,
      findSnapshot,
      findHidden,
      keepsDefaults: (runtime) => this.keepsDefaults(runtime),
    };
  }

  /** `taken`: a sandbox that waited, which is this one from now on. */
  async #build(record: SandboxRecord, signal: AbortSignal, taken?: TakenSandbox): Promise<LocalSandbox> {
    const { journal, live, networks, bases, begins } = this.#options;
    if (taken) await taken.claim(record);
    else journal.write(record);
    begins();
    const first = await beginNetwork(record);
    const sandbox = await live.hold(record, await this.#start(record, signal, taken), first);
    try {
      await sandbox.sleepWhenIdle();
      await settleNetwork({ networks, record, guest: sandbox.guest }, first);
      await taken?.handOver(sandbox);
      if (record.start) await runStartCommand(sandbox.guest, record.start, signal);
      bases.begin(record);
    } catch (cause) {
      await sandbox.kill();
      throw cause;
    }
    journal.announce(record.id);
    return sandbox;
  }

  async #start(record: SandboxRecord, signal: AbortSignal, taken?: TakenSandbox): Promise<RunningSandbox> {
    const { journal, live, records, runtimes, states, volumes } = this.#options;
    const first = firstRun(record);
    try {
      await assertNameFree(records, record);
      await states.holdOrigin(record);
      if (taken) return await taken.start(record, runtimes.need(record));
      const wishes = { deadline: record.deadline, deadlineAction: first.action, mounts: await volumes.mountsOf(record) };
      const spec = toSpec(live.states.runOf(record, first), record, wishes);
      return await runtimes.need(record).create(spec, signal);
    } catch (cause) {
      if (!taken || (await taken.discard())) await journal.remove(record.id);
      await states.letGoOfOrigin(record);
      throw signal.aborted ? cancelled(signal) : (asMissing(record, cause) ?? cause);
    }
  }
}

/** What it begins with may be removed while it is made. What was made of a template alone has that as its one ancestor. */
function asMissing({ lineage, base, template }: SandboxRecord, cause: unknown): BelljarError | undefined {
  if (lineage === undefined || !(cause instanceof BelljarError && cause.code === "SANDBOX_FILES_LOST")) return undefined;
  if (base !== undefined && lineage.length === 1)
    return new BelljarError(
      "TEMPLATE_NOT_FOUND",
      `The template "${template}" was removed while a sandbox was made from it: list yours with \`belljar template list\``,
      { cause },
    );
  return new BelljarError(
    "SNAPSHOT_NOT_FOUND",
    "The snapshot was removed while a sandbox was made from it: list yours with `belljar snapshot list`",
    { cause },
  );
}
