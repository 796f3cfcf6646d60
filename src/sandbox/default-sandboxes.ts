import { TurnsByKey } from "../async/turns-by-key.ts";
import { BelljarError } from "../errors.ts";
import { DefaultClaims } from "./default-claims.ts";
import type { Claim } from "./default-claims.ts";
import type { LocalSandbox } from "./local-sandbox.ts";
import { toShortId } from "./sandbox-id.ts";
import { AppliedWishes } from "./default-wishes.ts";
import type { CreateOptions, DefaultOptions, Principal } from "./sandbox.ts";

/** Losing a race means that somebody else has won it: more rounds than this need sandboxes that die as they are made. */
const MAX_ROUNDS = 10;

/** What default sandboxes need of the home they are in. */
export interface DefaultsHome {
  make(
    principal: Principal,
    options: CreateOptions,
    more: { readonly defaultName: string; readonly signal: AbortSignal },
  ): Promise<LocalSandbox>;
  /** Starts one that is stopped. Undefined when the owner has no sandbox of that id that has not ended, and if its files are lost. */
  find(request: DefaultRequest, id: string): Promise<FoundDefault | undefined>;
  /** Undefined when the owner has no sandbox of that id that runs. */
  findRunning(principal: Principal, id: string): Promise<LocalSandbox | undefined>;
  /** Called once in each process for a sandbox that it did not make. */
  takeOver(sandbox: LocalSandbox): Promise<void>;
  /** Whether its end is written. Another process may have ended it, and this one has not heard of it yet. */
  isBuried(id: string): boolean;
}

export interface FoundDefault {
  readonly sandbox: LocalSandbox;
  /** It was stopped, and this question started it again. */
  readonly started?: true;
}

export interface DefaultRequest {
  readonly principal: Principal;
  readonly name: string;
  readonly options: DefaultOptions;
  readonly signal: AbortSignal;
}

export interface KeptDefault {
  readonly lifetimeMs: number;
  /** As of a `DefaultSandbox`. */
  readonly unmet: readonly string[];
}

export interface DefaultResult {
  readonly sandbox: LocalSandbox;
  readonly created: boolean;
  readonly started?: true;
  readonly earlier?: string;
  readonly unmet: readonly string[];
}

/** Before the wishes are applied. */
type Found = Omit<DefaultResult, "unmet">;

/**
 * Default sandboxes, keyed by (principal, name). A sandbox is claimed as the default one only after it is made,
 * so nobody waits for a maker that may have died; who loses the race kills its own and uses the winner's.
 */
export class DefaultSandboxes {
  readonly #home: DefaultsHome;
  readonly #claims: DefaultClaims;
  readonly #known = new Map<string, LocalSandbox>();
  readonly #turns = new TurnsByKey();
  readonly #wishes = new AppliedWishes();

  constructor(path: string, home: DefaultsHome) {
    this.#home = home;
    this.#claims = new DefaultClaims(path);
  }

  async get(request: DefaultRequest): Promise<DefaultResult> {
    assertName(request.name);
    const known = this.#knownAlive(keyOf(request));
    const result = known ? { sandbox: known, created: false } : await this.#inTurn(request);
    const unmet = result.created ? [] : await this.#applyWishes(result.sandbox, request);
    await result.sandbox.keepAlive();
    return { ...result, unmet };
  }

  /** Gives one that runs its full lifetime again, and applies the wishes. Makes and starts none. Undefined if none runs. */
  async keep(request: Omit<DefaultRequest, "signal">): Promise<KeptDefault | undefined> {
    const key = keyOf(request);
    const sandbox = this.#knownAlive(key) ?? (await this.#turns.run(key, () => this.#findRunning(request)));
    if (!sandbox) return undefined;
    await this.#remember(key, sandbox);
    const unmet = await this.#applyWishes(sandbox, request);
    await sandbox.keepAlive(1);
    return { lifetimeMs: sandbox.lifetimeMs, unmet };
  }

  /** A caller that names a runtime or a workspace must not work on another one. */
  async #applyWishes(sandbox: LocalSandbox, request: Omit<DefaultRequest, "signal">): Promise<readonly string[]> {
    assertSameRuntime(sandbox, request);
    assertSameWorkspace(sandbox, request);
    const { principal, options } = request;
    // The command line is the local user's word. A call of a token must not change a sandbox that another token of its owner uses.
    return options.wishes && principal.grants === undefined ? this.#wishes.apply(sandbox, options.wishes) : [];
  }

  #knownAlive(key: string): LocalSandbox | undefined {
    const known = this.#known.get(key);
    return known && !known.end && !this.#home.isBuried(known.id) ? known : undefined;
  }

  async #findRunning({ principal, name }: Omit<DefaultRequest, "signal">): Promise<LocalSandbox | undefined> {
    const { id } = await this.#claims.current(principal.id, name);
    return id === "" ? undefined : this.#home.findRunning(principal, id);
  }

  /** One caller of this process at a time for a key: the others then find what it made. */
  async #inTurn(request: DefaultRequest): Promise<Found> {
    const key = keyOf(request);
    const result = await this.#turns.run(key, () => this.#findOrMake(request));
    await this.#remember(key, result.sandbox, result.created);
    return result;
  }

  /** A server that runs for weeks keeps none of those that have ended. */
  async #remember(key: string, sandbox: LocalSandbox, isNew = false): Promise<void> {
    if (this.#known.get(key) === sandbox) return;
    if (!isNew) await this.#home.takeOver(sandbox);
    this.#known.set(key, sandbox);
    void sandbox.ended.then(() => this.#known.get(key) === sandbox && this.#known.delete(key));
  }

  async #findOrMake(request: DefaultRequest): Promise<Found> {
    const { principal, name } = request;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const claim = await this.#claims.current(principal.id, name);
      const found = claim.id !== "" ? await this.#home.find(request, claim.id) : undefined;
      if (found) return { ...found, created: false };
      const made = await this.#make(request, claim);
      if (made) return { sandbox: made, created: true, ...(claim.id !== "" && { earlier: claim.id }) };
    }
    throw new BelljarError(
      "RUNTIME_FAILED",
      `The default sandbox ${JSON.stringify(name)} ends as soon as it is made: see \`belljar doctor\``,
    );
  }

  /** Undefined when another process was first. */
  async #make({ principal, name, options, signal }: DefaultRequest, before: Claim): Promise<LocalSandbox | undefined> {
    const { wishes: _, ...made } = options;
    const sandbox = await this.#home.make(principal, made, { defaultName: name, signal });
    this.#wishes.noteMade(sandbox);
    const claim = { number: before.number + 1, id: sandbox.id };
    if (await this.#claims.take(principal.id, name, claim)) return sandbox;
    await sandbox.kill();
    return undefined;
  }
}

function keyOf({ principal, name }: Pick<DefaultRequest, "principal" | "name">): string {
  return `${principal.id}\0${name}`;
}

function assertName(name: string): void {
  if (/^[^\0]{1,200}$/.test(name)) return;
  throw new BelljarError("ARGUMENTS_INVALID", "The name of a default sandbox has 1 to 200 characters");
}

type Wanted = Pick<DefaultRequest, "name" | "options">;

function assertSameRuntime({ id, record }: LocalSandbox, { name, options: { runtime = record.runtime } }: Wanted): void {
  if (runtime === record.runtime) return;
  throw new BelljarError(
    "ARGUMENTS_INVALID",
    `The default sandbox ${JSON.stringify(name)} (${id}) has the runtime "${record.runtime}": end it with \`belljar sandbox kill ${toShortId(id)}\`, or choose another sandbox name`,
  );
}

function assertSameWorkspace(sandbox: LocalSandbox, { name, options }: Wanted): void {
  const wanted = options.workspace;
  const has = sandbox.record.workspace;
  if (!wanted || (has?.path === wanted.path && has.mode === wanted.mode)) return;
  const shown = has ? `${has.path}:${has.mode}` : "none";
  throw new BelljarError(
    "WORKSPACE_CONFLICT",
    `The default sandbox ${JSON.stringify(name)} (${sandbox.id}) lives with another workspace (${shown}), and a workspace cannot change: end it with \`belljar sandbox kill ${toShortId(sandbox.id)}\`, which loses its files, or choose another sandbox name`,
  );
}
