import { TurnsByKey } from "../../async/turns-by-key.ts";
import { BelljarError } from "../../errors.ts";
import type { Egress } from "../../network/egress.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import { RefusalLog, type RefusalWindow } from "../../network/refusal-log.ts";
import type { SecretGuard } from "../../network/secrets/secret-guard.ts";
import type { SecretStore } from "../../secrets/secret-store.ts";
import type { SandboxAuthority } from "../../network/tls/sandbox-authority.ts";
import type { Guest } from "../../runtime/guest/guest.ts";
import { mapLimit } from "../../async/map-limit.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { ChangeState, KeptState } from "./network-files.ts";
import { NetworkFiles } from "./network-files.ts";
import type { NetworkState } from "./network-state.ts";
import { firstState } from "./network-state.ts";
import { ServedNetwork } from "./served-network.ts";

const PARALLEL = 8;
const NO_SECRETS: Pick<SecretStore, "reveal"> = { reveal: async () => undefined };

/** States as one look at their folder found them. */
export interface NetworkLook {
  /** Reads no file. Undefined for a state that must be read. */
  known(record: SandboxRecord): KeptState | undefined;
  read(record: SandboxRecord): Promise<KeptState>;
}

export interface HomeNetworksOptions {
  readonly home: string;
  /** The way out, or how to open it when it is first needed; it belongs to the caller. Without one sandboxes made here have the policy `none`. */
  readonly egress?: Egress | (() => Promise<Egress>);
  readonly secrets?: SecretStore;
  /** What the egress of this process refuses. Default: nothing is known of it. */
  readonly refusals?: RefusalLog;
  readonly report: (problem: string) => void;
  /** Called after each change that this process makes. */
  readonly changed?: (id: string) => void;
}

/**
 * The networks of a home's sandboxes: their states on disk, and the way out of those that this process holds.
 * A change reaches every process that serves the sandbox, because each of them watches the folder:
 *
 *     change() here --> file on disk --> watcher of each process --> one look at a time for a sandbox
 *          |                                                           | held here?
 *          |                                                       yes |          | no
 *          +------- at once, where it is held --------> ServedNetwork.apply    discover(id), in serve and mcp:
 *                                                                              opens the sandbox, so that it is held
 *
 * `announce` writes the first state of a fresh sandbox, and `remove` waits for it: a state never outlives its sandbox.
 */
export class HomeNetworks implements AsyncDisposable {
  readonly #options: HomeNetworksOptions;
  readonly #files: NetworkFiles;
  readonly #served = new Map<string, ServedNetwork>();
  readonly #looks = new TurnsByKey();
  readonly #queued = new Map<string, Promise<unknown>>();
  /** The first states of fresh sandboxes, on their way to the disk. */
  readonly #writing = new Map<string, Promise<void>>();
  #watcher: { close(): void } | undefined;
  #discover: ((id: string) => Promise<unknown>) | undefined;
  readonly #refusals: RefusalLog;
  #isOver = false;

  constructor(options: HomeNetworksOptions) {
    this.#options = options;
    this.#refusals = options.refusals ?? new RefusalLog();
    this.#files = new NetworkFiles(options.home, options.report);
  }

  get secrets(): SecretStore | undefined {
    return this.#options.secrets;
  }

  get report(): (problem: string) => void {
    return this.#options.report;
  }

  /** A policy in canonical form. Throws `ARGUMENTS_INVALID`, and `NOT_SUPPORTED` for one that this process cannot serve. */
  async check(policy: NetworkPolicy): Promise<NetworkPolicy> {
    if (policy === "none") return policy;
    const { checkNetworkPolicy } = await import("../../network/check-policy.ts");
    const checked = checkNetworkPolicy(policy);
    const { egress } = this.#options;
    if (typeof egress === "function") await egress();
    if (egress) return checked;
    throw new BelljarError("NOT_SUPPORTED", "This process serves no network: its sandboxes can only have the network policy none");
  }

  /** Serves a sandbox that this process holds, until `letGo`. `first`: what a fresh one begins with; absent: what the disk has. */
  hold(record: SandboxRecord, guest: Guest, first?: NetworkState): ServedNetwork {
    this.#watch();
    const { egress } = this.#options;
    const network = new ServedNetwork({
      record,
      guest,
      ...(egress && { egress: typeof egress === "function" ? egress : async () => egress }),
      createGuard: (authority) => this.#createGuard(record, authority),
      first: first ? Promise.resolve({ number: 0, state: first }) : this.read(record),
      report: this.#options.report,
    });
    this.#served.set(record.id, network);
    return network;
  }

  /** Refusals of a sandbox that is served here, from now on. */
  openRefusals(id: string): RefusalWindow {
    return this.#refusals.open(id);
  }

  async letGo(network: ServedNetwork): Promise<void> {
    const { id } = network.record;
    if (this.#served.get(id) === network) {
      this.#served.delete(id);
      this.#refusals.forget(id);
    }
    await network[Symbol.asyncDispose]();
  }

  async read(record: SandboxRecord): Promise<KeptState> {
    return this.look().read(record);
  }

  look(): NetworkLook {
    const { known, read } = this.#files.look();
    return { known: (record) => known(record.id, firstState(record)), read: (record) => read(record.id, firstState(record)) };
  }

  /** Changes the state on disk, and what this process serves at once. */
  async change(record: SandboxRecord, change: ChangeState): Promise<NetworkState> {
    const kept = await this.#files.change(record.id, firstState(record), change);
    this.#options.changed?.(record.id);
    await this.#served.get(record.id)?.apply(kept);
    return kept.state;
  }

  /** The sandbox runs again: other processes that serve networks see its file change, and take it up. A failure is reported alone. */
  async touch(record: SandboxRecord): Promise<void> {
    try {
      if (await this.isKept(record)) await this.change(record, (state) => ({ ...state }));
    } catch (cause) {
      this.#options.report(`Sandbox ${record.id} runs, and its network is served by those alone who open it: ${String(cause)}`);
    }
  }

  /** Whether its network was ever more than none. */
  async isKept(record: SandboxRecord): Promise<boolean> {
    return (await this.read(record)).number > 0;
  }

  /** Whether this process serves the networks of the whole home. */
  get servesAll(): boolean {
    return this.#discover !== undefined && !this.#isOver;
  }

  /** Writes down how a fresh sandbox begins, so that other processes find it. Disposal waits for it. */
  async announce({ id }: Pick<SandboxRecord, "id">, state: NetworkState): Promise<void> {
    const written = this.#files.begin(id, state).finally(() => this.#writing.delete(id));
    this.#writing.set(id, written);
    await written;
  }

  /** A first state that is still on its way must not come after the removal. */
  async remove(id: string): Promise<void> {
    await Promise.allSettled([this.#writing.get(id)]);
    await this.#files.remove(id);
  }

  /** The ids of all sandboxes whose network was ever more than none. */
  ids(): Promise<readonly string[]> {
    return this.#files.ids();
  }

  /** From now on `open` is called for each sandbox that has a network state and is not held, now and when one comes. */
  async discover(open: (id: string) => Promise<unknown>): Promise<void> {
    this.#discover = open;
    this.#watch();
    await mapLimit(await this.#files.ids(), PARALLEL, (id) => this.#refresh(id));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#watcher?.close();
    await Promise.allSettled([this.#looks.idle(), ...this.#writing.values()]);
    await Promise.all([...this.#served.values()].map((network) => this.letGo(network)));
  }

  #watch(): void {
    if (!this.#isOver) this.#watcher ??= this.#files.watch((id) => void this.#refresh(id));
  }

  /** One look at a time for a sandbox, and one more for all that changes meanwhile. */
  #refresh(id: string): Promise<unknown> {
    const queued = this.#queued.get(id);
    if (queued) return queued;
    const look = this.#looks
      .run(id, () => {
        this.#queued.delete(id);
        return this.#look(id);
      })
      .catch((cause: unknown) => this.#options.report(`The network of sandbox ${id} cannot be followed: ${String(cause)}`));
    this.#queued.set(id, look);
    return look;
  }

  async #look(id: string): Promise<void> {
    if (this.#isOver) return;
    const network = this.#served.get(id);
    if (network) await network.apply(await this.read(network.record));
    else await this.#discover?.(id);
  }

  async #createGuard(
    { owner, secretsOf, secrets: uses = {}, placeholders = {} }: SandboxRecord,
    authority: SandboxAuthority,
  ): Promise<SecretGuard> {
    const { createSecretGuard } = await import("../../network/secrets/create-secret-guard.ts");
    const store = this.#options.secrets ?? NO_SECRETS;
    return createSecretGuard({ owner: secretsOf ?? owner, uses, placeholders, store, authority, report: this.#options.report });
  }
}
