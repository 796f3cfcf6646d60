import { OwnedWork } from "../../async/owned-work.ts";
import { SandboxReaper } from "../../interpreter/sandbox-reaper.ts";
import { assertNetworkGranted, cutLimits } from "../../sandbox/grants.ts";
import { type CreateOptions, LOCAL, type Principal, type Sandbox, type Sandboxes } from "../../sandbox/sandbox.ts";
import { toldToStranger } from "./told-to-stranger.ts";
import type { PackageLock } from "../../packages/package-lock.ts";
import type { PreparedPackages } from "../../packages/prepared-packages.ts";
import type { UnitSpec } from "../unit.ts";
import { closed, networkGrantee, type OwnedNetwork, type OwnerGrants } from "./owner-rights.ts";
import { OwnerWatch } from "./owner-watch.ts";
import { SESSION_MS, type SessionKey, SessionSandboxes } from "./session-sandboxes.ts";

/** Time that a sandbox has beyond the code's time limit, so that the code times out before the sandbox ends. */
const GRACE_MS = 30_000;

type Limits = NonNullable<CreateOptions["limits"]>;

export interface ToolSandboxesOptions {
  readonly sandboxes: Pick<Sandboxes, "create">;
  /** Of a unit that names none. A limit that the host cannot enforce is left out then. */
  readonly limits: Limits;
  readonly packages: Pick<PreparedPackages, "snapshotOf">;
  readonly owners: OwnerGrants;
  /** How often the owners of code that runs are looked at. Default: every few seconds. */
  readonly lookMs?: number;
}

export interface ToolWork<T> {
  /** Whose code it is: its secrets are the owner's, whoever calls. */
  readonly owner: string;
  readonly spec: Pick<UnitSpec, "limits" | "network" | "secrets">;
  /** Packages that the sandbox has. */
  readonly lock?: PackageLock | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whose sandbox is used again. Absent: a fresh one is, and ends with the work. */
  readonly session?: SessionKey | undefined;
  /** The signal aborts as the caller's does, and when the sandboxes end. */
  readonly work: (sandbox: Sandbox, signal: AbortSignal) => Promise<T>;
}

type Wish = Omit<ToolWork<unknown>, "session" | "work">;

interface Making extends Pick<CreateOptions, "networkOf"> {
  readonly lifetimeMs: number;
  /** It is used again: the next call needs no other one, so it begins no kind of sandboxes that wait. */
  readonly isKept: boolean;
}

/** An install that has run code of packages may have changed Python itself: nothing of that starts before its owner or a caller asks. */
function waitsWith({ installer, mayBuild }: PackageLock): CreateOptions["keepsReady"] {
  return installer === "pip" && !mayBuild ? "python" : "nothing";
}

/**
 * The sandboxes that users' code runs in. They are their caller's, and nobody finds them. One with the code of an owner who may not give it
 * any more ends. Disposing ends them, and the work in them.
 */
export class ToolSandboxes implements AsyncDisposable {
  readonly #options: ToolSandboxesOptions;
  readonly #reaper = new SandboxReaper();
  readonly #sessions = new SessionSandboxes();
  readonly #running = new OwnedWork();
  readonly #watch: OwnerWatch;

  constructor(options: ToolSandboxesOptions) {
    this.#options = options;
    this.#watch = new OwnerWatch(options.owners, options.lookMs);
  }

  /** Rejects as creating a sandbox does, as the work, and with `TOOL_CLOSED` if the owner may not give the tool. */
  use<T>(principal: Principal, { signal, ...work }: ToolWork<T>): Promise<T> {
    return this.#running.run(signal, (owned) => this.#use(principal, { ...work, signal: owned }));
  }

  async #use<T>(principal: Principal, { session, work: doIn, ...wish }: ToolWork<T>): Promise<T> {
    const { owner, signal } = wish;
    const owned: OwnedNetwork = { owner, network: wish.spec.network ?? "none" };
    const networkOf = await networkGrantee(this.#options.owners, principal, owned);
    // A session was made with what its caller and its owner were granted then.
    await assertNetworkGranted(owned.network, networkOf);
    const work = (sandbox: Sandbox): Promise<T> => doIn(sandbox, signal).catch((cause: unknown) => this.#explain(cause, sandbox));
    const lifetimeMs = wish.timeoutMs + GRACE_MS + (session === undefined ? 0 : SESSION_MS);
    const create = async (): Promise<Sandbox> => {
      const sandbox = await this.#create(principal, wish, { lifetimeMs, networkOf, isKept: session !== undefined });
      if (owner !== LOCAL.id) this.#watch.add(sandbox, owned);
      return sandbox;
    };
    if (session !== undefined) return this.#sessions.use(session, { create, work, signal });
    const sandbox = await create();
    return this.#reaper.reapAfter(sandbox, () => work(sandbox));
  }

  async #create(principal: Principal, wish: Wish, { lifetimeMs, networkOf, isKept }: Making): Promise<Sandbox> {
    try {
      const options = { ...(await this.#optionsOf(principal, wish, { lifetimeMs, isKept })), networkOf };
      return await this.#options.sandboxes.create(principal, options, wish.signal);
    } catch (cause) {
      throw wish.owner === principal.id ? cause : toldToStranger(cause);
    }
  }

  /** Why work failed whose sandbox was ended under it. */
  #explain(cause: unknown, sandbox: Sandbox): never {
    throw this.#watch.hasEnded(sandbox) ? closed() : cause;
  }

  async #optionsOf(
    principal: Principal,
    { owner, spec, lock, signal }: Wish,
    { lifetimeMs: timeoutMs, isKept }: Omit<Making, "networkOf">,
  ): Promise<CreateOptions> {
    const { limits, network = "none", secrets } = spec;
    const hiddenSnapshot = lock && (await this.#options.packages.snapshotOf(principal, lock, signal));
    return {
      limits: limits ?? cutLimits(this.#options.limits, principal),
      bestEffort: limits === undefined,
      // What may not be reached is refused: another network would be one that the tool never named.
      network,
      // What its caller reaches is not the code's to reach, unless it is the caller's own code, or the local user's.
      isPublicOnly: owner !== principal.id && owner !== LOCAL.id,
      ephemeral: true,
      isHidden: true,
      timeoutMs,
      ...(secrets && { secrets, secretsOf: owner }),
      ...(hiddenSnapshot !== undefined && { hiddenSnapshot }),
      ...(lock && !isKept && { keepsReady: waitsWith(lock) }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running[Symbol.asyncDispose]();
    await this.#watch[Symbol.asyncDispose]();
    await this.#sessions[Symbol.asyncDispose]();
    await this.#reaper[Symbol.asyncDispose]();
  }
}
