import type { Egress } from "../network/egress.ts";
import type { NetworkPolicy } from "../network/policy.ts";
import type { RefusalLog } from "../network/refusal-log.ts";
import type { TemplateInfo } from "../runtime/contract/layer-store.ts";
import type { Runtime } from "../runtime/contract/runtime.ts";
import type { SecretStore } from "../secrets/secret-store.ts";
import type { Texts } from "../text/texts.ts";
import type { SandboxDefaults } from "./create-request.ts";
import type { KeptDefault } from "./default-sandboxes.ts";
import type { KeepLimits } from "./keeping/choose-removals.ts";
import type { KeptTotals } from "./keeping/kept-sandboxes.ts";
import type { NetworkState } from "./network/network-state.ts";
import type { PoolCounts, PoolOptions } from "./pool/pool-options.ts";
import type { HostIsolation, RuntimeChoice } from "./runtimes.ts";
import type { HiddenSnapshots } from "./state/hidden-snapshots.ts";
import type { FrozenStep, HeldSnapshot } from "./state/home-snapshots.ts";
import type { AutoCheckpointSettings } from "./state/auto-checkpoints.ts";
import type { BeforeFreeze } from "./state/state-parts.ts";
import type { HomeTemplates } from "./template-source.ts";
import type { Volumes } from "./volumes/volumes.ts";
import type { DefaultOptions, Principal, Quotas, Sandboxes } from "./sandbox.ts";

export interface LocalSandboxesOptions {
  /** `$BELLJAR_HOME`, absolute. */
  readonly home: string;
  /** By name. Each sandbox is opened and cleared by the runtime that made it; which of them a create may name, `config` says. */
  readonly runtimes: ReadonlyMap<string, Runtime>;
  readonly config: RuntimeChoice & {
    /** Without its limits, stopped sandboxes are kept until somebody deletes them. */
    readonly sandbox: SandboxDefaults & KeepLimits & AutoCheckpointSettings;
    readonly listMax: number;
    readonly tombstoneRetentionMs: number;
  };
  /** The network policy of a sandbox that is created without one. Default: `none`. */
  readonly network?: NetworkPolicy;
  /**
   * The way out of the sandboxes that this process holds, or how to open it when it is first needed; it belongs to the caller.
   * Without one they can only have the policy `none`.
   */
  readonly egress?: Egress | (() => Promise<Egress>);
  /** Gets what `egress` refuses. Default: nobody is told of refusals. */
  readonly refusals?: RefusalLog;
  /** For a principal whose token names none. Default: nothing is counted. */
  readonly quotas?: Quotas;
  /** Sandboxes that wait for their owners. Default: none waits, and none is taken. */
  readonly pool?: PoolOptions;
  /** Without it no sandbox can use secrets. */
  readonly secrets?: SecretStore;
  /** What sandboxes may begin with beside the templates of the runtimes; it belongs to the caller. */
  readonly templates?: HomeTemplates;
  /** Called before a state of a sandbox is taken that runs. */
  readonly beforeFreeze?: BeforeFreeze;
  /** Compares and merges files of states; it belongs to the caller. Without it states cannot be compared, and paths not undone or merged. */
  readonly texts?: Texts;
  /** Told, in one sentence, what a person should know though no call fails: a corrupt record, a folder that cannot be cleared. */
  readonly report?: (problem: string) => void;
}

/** The sandboxes of a home on this host. Disposing it lets go of them and kills none. */
export interface LocalSandboxes extends Sandboxes, AsyncDisposable {
  readonly hiddenSnapshots: HiddenSnapshots;
  readonly volumes: Volumes;
  /**
   * Clears what is dead, forgets what is long gone, and removes stopped sandboxes beyond the limits; to be called at the start and every hour.
   * From the first call on, each stop is looked at as well.
   */
  sweep(): Promise<void>;
  /**
   * Serves the networks of all live sandboxes of the home, whoever made them, until disposed; resolves when those that live now are
   * served. Of several processes that do, the guest lets one at a time.
   */
  serveNetworks(): Promise<void>;
  /** What the runtimes enforce here that a sandbox may have. */
  isolation(): Promise<HostIsolation>;
  /** What the principal's sandboxes can start from. */
  templates(principal: Principal): Promise<readonly TemplateInfo[]>;
  /**
   * Where requests may go that Belljar itself sends for a caller: as for a new sandbox with this policy, by default the configuration's. Rejects
   * with `FORBIDDEN`.
   */
  networkOf(
    principal: Principal,
    policy?: NetworkPolicy,
    options?: { readonly isPublicOnly?: boolean | undefined },
  ): Promise<Pick<NetworkState, "policy" | "inside">>;
  /** As `HomeSnapshots.holdForTemplate`. */
  holdForTemplate(principal: Principal, snapshot: string, user: string, signal: AbortSignal): Promise<HeldSnapshot>;
  /** As `HomeSnapshots.freezeForTemplate`. */
  // eslint-disable-next-line max-params -- as `holdForTemplate`
  freezeForTemplate(principal: Principal, sandbox: string, user: string, signal: AbortSignal): Promise<FrozenStep>;
  /** As `default` for one that runs, and gives it its full lifetime. Makes and starts none. Undefined if none runs. */
  keepDefault(principal: Principal, name: string, options: DefaultOptions): Promise<KeptDefault | undefined>;
  /** What the home's stopped sandboxes hold, as far as it was measured. */
  kept(): KeptTotals;
  /** Live sandboxes that this process holds: all of the home once it serves their networks. */
  liveCount(): number;
  /** Begins to make the sandboxes that are to wait from the start on. */
  beginPool(): void;
  /** What waits, as this process has it. */
  poolCounts(): readonly PoolCounts[];
}
