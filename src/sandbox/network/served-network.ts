import { Turns } from "../../async/turns.ts";
import { BelljarError } from "../../errors.ts";
import type { Egress, EgressService } from "../../network/egress.ts";
import type { SecretGuard } from "../../network/secrets/secret-guard.ts";
import type { SandboxAuthority } from "../../network/tls/sandbox-authority.ts";
import type { Guest } from "../../runtime/guest/guest.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { proxyEnvironment } from "./network-environment.ts";
import type { KeptState } from "./network-files.ts";
import type { NetworkState } from "./network-state.ts";

export interface ServedNetworkOptions {
  readonly record: SandboxRecord;
  readonly guest: Guest;
  /** Absent: this process serves nobody's way out. */
  readonly egress?: () => Promise<Egress>;
  readonly createGuard: (authority: SandboxAuthority) => Promise<SecretGuard>;
  /** The state to begin with. */
  readonly first: Promise<KeptState>;
  readonly report: (problem: string) => void;
}

/**
 * The network of one sandbox as this process serves it, from the moment it holds the sandbox until it lets go.
 *
 *     loading --first state--> idle --a policy other than none--> serving --dispose--> over
 *                               ^                                    |
 *                               +------ policy none, or failed ------+
 *
 * After `answerClosed` the policy none is served too: programs are refused in words.
 * `apply` brings each later state; an older one changes nothing. While the service is serving, a changed state updates it in place.
 * After a failure the next command tries again. Steps run one at a time, so that two states never start two services.
 */
export class ServedNetwork implements AsyncDisposable {
  readonly #options: ServedNetworkOptions;
  readonly #loaded: Promise<void>;
  #kept: KeptState | undefined;
  #service: EgressService | undefined;
  #guard: { readonly authority: SandboxAuthority; readonly guard: SecretGuard } | undefined;
  readonly #steps = new Turns();
  /** The last step towards the latest state; none rejects. */
  #following: Promise<unknown> = Promise.resolve();
  #told: string | undefined;
  #answersClosed = false;
  #isOver = false;

  constructor(options: ServedNetworkOptions) {
    this.#options = options;
    this.#loaded = options.first.then((kept) => void this.apply(kept));
    // Whoever asks for the state is told; a sandbox that nobody asks about is not served.
    this.#loaded.catch(() => undefined);
  }

  get record(): SandboxRecord {
    return this.#options.record;
  }

  async state(): Promise<NetworkState> {
    await this.#loaded;
    if (this.#kept) return this.#kept.state;
    throw new BelljarError("SANDBOX_ENDED", `Sandbox ${this.#options.record.id} is not held any more: open it again`);
  }

  /** From now on this state holds, unless a later one does already; resolves once it is served. Never rejects. */
  async apply(kept: KeptState): Promise<void> {
    if (this.#isOver || (this.#kept && kept.number < this.#kept.number)) return;
    const before = this.#kept?.state;
    this.#kept = kept;
    if (!isServedAlike(before ?? UNSERVED, kept.state)) await this.#follow();
  }

  /** What commands need to reach the network; resolves once it can be reached, or cannot be served here. */
  async environment(): Promise<Readonly<Record<string, string>>> {
    const { policy, authority } = await this.state();
    if (policy === "none" && !this.#answersClosed) return {};
    await (this.#service ? this.#following : this.#follow());
    // A failure is reported once, and must not keep a person from ending the program that causes it.
    await this.#service?.ready.catch(() => undefined);
    if (policy === "none" && !this.#service) return {};
    return { ...proxyEnvironment(this.#options.record.id), ...(authority && (await loadTrust())) };
  }

  /** From now on a closed network says so: programs that try it are told at once, and their refusals are recorded. Never rejects. */
  async answerClosed(): Promise<void> {
    this.#answersClosed = true;
    const kept = await this.#loaded.then(
      () => this.#kept,
      () => undefined,
    );
    if (kept?.state.policy === "none" && !this.#service) await this.#follow();
    await this.#service?.ready.catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#following;
    await this.#stop();
  }

  #follow(): Promise<unknown> {
    return this.#step(() => this.#serveLatest());
  }

  async #serveLatest(): Promise<void> {
    const { egress: open, record, guest } = this.#options;
    const state = this.#kept?.state;
    if (!state || !open) return;
    if (state.policy === "none" && !this.#answersClosed) return this.#stop();
    const [egress, guard] = await Promise.all([open(), this.#guardOf(state)]);
    const { policy, inside } = state;
    const served = {
      policy,
      ...(this.#answersClosed && { answersClosed: true }),
      ...(inside !== undefined && { inside }),
      ...(guard && { guard }),
    };
    if (this.#isOver) return;
    if (this.#service) return this.#service.update(served);
    const service = egress.serve({ id: record.id, owner: record.owner, guest }, served);
    this.#service = service;
    service.ready.then(
      () => (this.#told = undefined),
      (cause: unknown) => this.#failed(service, cause),
    );
  }

  #step(work: () => Promise<void>): Promise<unknown> {
    this.#following = this.#steps.run(work).catch((cause: unknown) => this.#tell(cause));
    return this.#following;
  }

  /** The next command tries again. */
  #failed(service: EgressService, cause: unknown): void {
    if (this.#service !== service) return;
    void this.#step(async () => {
      if (this.#service === service) await this.#stop();
    });
    this.#tell(cause);
  }

  /** The same failure is told once. */
  #tell(cause: unknown): void {
    if (cause instanceof BelljarError && (cause.code === "SANDBOX_ENDED" || cause.code === "CANCELLED")) return;
    if (this.#kept?.state.policy === "none") return;
    const problem = `Sandbox ${this.#options.record.id} has no network now: ${cause instanceof Error ? cause.message : String(cause)}`;
    if (this.#told !== problem) this.#options.report(problem);
    this.#told = problem;
  }

  async #stop(): Promise<void> {
    const service = this.#service;
    this.#service = undefined;
    await service?.[Symbol.asyncDispose]();
  }

  async #guardOf({ authority }: NetworkState): Promise<SecretGuard | undefined> {
    if (!authority) return undefined;
    if (this.#guard?.authority.certificatePem !== authority.certificatePem)
      this.#guard = { authority, guard: await this.#options.createGuard(authority) };
    return this.#guard.guard;
  }
}

type Served = Pick<NetworkState, "policy" | "inside" | "authority">;

const UNSERVED: Served = { policy: "none" };

async function loadTrust(): Promise<Readonly<Record<string, string>>> {
  return (await import("../../network/tls/trust.ts")).trustEnv();
}

/** Links are no matter of the way out. */
function isServedAlike(...states: readonly Served[]): boolean {
  const [one, other] = states.map(({ policy, inside, authority }) => JSON.stringify([policy, inside, authority?.certificatePem]));
  return one === other;
}
