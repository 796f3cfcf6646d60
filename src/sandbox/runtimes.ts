import { BelljarError } from "../errors.ts";
import type { TemplateInfo } from "../runtime/contract/layer-store.ts";
import type { Isolation, Runtime } from "../runtime/contract/runtime.ts";
import type { StorageReport } from "./keeping/storage-report.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import type { Principal } from "./sandbox.ts";

/** Which runtimes new sandboxes may have. */
export interface RuntimeChoice {
  /** The runtime of a sandbox that was created without one. Default: the first. */
  readonly runtime?: string | undefined;
  /** The other runtimes that a create may name. Default: none. */
  readonly runtimes?: readonly string[] | undefined;
}

/** What holds on this host for the standard runtime. */
export interface HostIsolation extends Isolation {
  /** The same for the other runtimes that a create may name. Absent when there are none. */
  readonly others?: readonly Isolation[] | undefined;
  /** What the home's storage pool holds. Absent without a pool. */
  readonly storagePool?: StorageReport | undefined;
}

/**
 * The runtimes of this process. Only the runtime that made a sandbox opens, asks and clears it. A runtime that no create may name any
 * more still serves its own sandboxes.
 */
export class Runtimes {
  readonly #byName: ReadonlyMap<string, Runtime>;
  /** The runtimes that a create may name, the standard one first. */
  readonly #offered: readonly string[];

  /** Throws `RUNTIME_UNAVAILABLE` for a choice that names an unknown runtime. */
  constructor(byName: ReadonlyMap<string, Runtime>, { runtime, runtimes = [] }: RuntimeChoice) {
    this.#byName = byName;
    const [first = ""] = byName.keys();
    this.#offered = [...new Set([runtime ?? first, ...runtimes])];
    const missing = this.#offered.find((name) => !byName.has(name));
    if (missing !== undefined)
      throw new BelljarError("RUNTIME_UNAVAILABLE", `Unknown runtime "${missing}"; ${expected([...byName.keys()])}`);
  }

  /** Undefined when this process does not have it. */
  of({ runtime }: Pick<SandboxRecord, "runtime">): Runtime | undefined {
    return this.#byName.get(runtime);
  }

  /** Throws `RUNTIME_UNAVAILABLE` when this process does not have it. */
  need({ id, runtime }: Pick<SandboxRecord, "id" | "runtime">): Runtime {
    const found = this.#byName.get(runtime);
    if (found) return found;
    throw new BelljarError(
      "RUNTIME_UNAVAILABLE",
      `Sandbox ${id} was made by the runtime "${runtime}", which this Belljar does not have: use one that has it`,
    );
  }

  all(): readonly Runtime[] {
    return [...this.#byName.values()];
  }

  /** Fits the storage of the runtimes to the host's room, and gives back what is free. */
  async tend(): Promise<void> {
    for (const { storagePool } of this.all()) await storagePool?.tend();
  }

  /** Of another runtime that cannot even be opened, it says so. Rejects when the standard one cannot be asked. */
  async probe(): Promise<HostIsolation> {
    const [standard, ...others] = this.#offered.flatMap((name) => this.#byName.get(name) ?? []);
    if (!standard) return unavailable("", []);
    const [first, ...rest] = await Promise.all([standard.probe(), ...others.map(probeOther)]);
    return { ...first, ...(rest.length > 0 && { others: rest }) };
  }

  /**
   * The templates of the runtimes that the principal was granted. Of one name, the first runtime's is told. Rejects when the standard
   * runtime cannot be opened; another one that cannot has none.
   */
  async templates(principal: Principal): Promise<readonly TemplateInfo[]> {
    const runtimes = this.#grantedTo(principal).flatMap((name) => this.#byName.get(name) ?? []);
    const lists = await Promise.all(
      runtimes.map((runtime) => (runtime.name === this.#standard ? runtime.layers.templates() : templatesOf(runtime))),
    );
    const all = lists.flat();
    return all.filter(({ name }, at) => all.findIndex((other) => other.name === name) === at);
  }

  /**
   * The runtime of a new sandbox: the named runtime, else the standard one, else the first that the principal was granted.
   * Throws `ARGUMENTS_INVALID` for an unknown runtime, and `FORBIDDEN` for a runtime that the principal was not granted.
   */
  choose(principal: Principal, name?: string): Runtime {
    const granted = this.#grantedTo(principal);
    if (name !== undefined && !this.#offered.includes(name))
      throw new BelljarError("ARGUMENTS_INVALID", `No runtime ${JSON.stringify(name.slice(0, 40))} here; ${expected(granted)}`);
    const chosen = name ?? granted[0];
    const runtime = chosen !== undefined && granted.includes(chosen) ? this.#byName.get(chosen) : undefined;
    if (runtime) return runtime;
    throw notGranted(chosen ?? this.#standard);
  }

  /** Why this token may not use a sandbox of its owner, which another token may have made. Undefined if it may. */
  findUseRefusal(principal: Principal, { id, runtime }: SandboxRecord): BelljarError | undefined {
    const { grants } = principal;
    if (grants === undefined || (grants.runtimes ?? [this.#standard]).includes(runtime)) return undefined;
    const cause = notGranted(runtime);
    return new BelljarError("FORBIDDEN", `Sandbox ${id} was made with more than this token may have. ${cause.message}`, { cause });
  }

  get #standard(): string {
    return this.#offered[0] ?? "";
  }

  /** A principal without a granted runtime has the standard one. */
  #grantedTo({ grants }: Principal): readonly string[] {
    if (grants === undefined) return this.#offered;
    const { runtimes = [this.#standard] } = grants;
    return this.#offered.filter((name) => runtimes.includes(name));
  }
}

/** Nothing holds: no sandbox of this runtime can be made here. */
export function unavailable(runtime: string, checks: Isolation["checks"]): Isolation {
  return {
    runtime,
    available: false,
    checks,
    limits: [],
    users: "one",
    terminals: false,
    pause: false,
    sleep: false,
    stop: false,
    states: "none",
  };
}

async function templatesOf(runtime: Runtime): Promise<readonly TemplateInfo[]> {
  try {
    return await runtime.layers.templates();
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    return [];
  }
}

async function probeOther(runtime: Runtime): Promise<Isolation> {
  try {
    return await runtime.probe();
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    return unavailable(runtime.name, [{ id: "runtime", state: "absent", detail: cause.message }]);
  }
}

function expected(names: readonly string[]): string {
  return `expected one of ${names.join(", ")}`;
}

function notGranted(runtime: string): BelljarError {
  return new BelljarError("FORBIDDEN", `The runtime "${runtime}" needs the scope runtime:${runtime}, and this token does not have it`);
}
