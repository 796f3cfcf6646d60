import { createHash } from "node:crypto";
import { TurnsByKey } from "../async/turns-by-key.ts";
import { BelljarError } from "../errors.ts";
import { SandboxReaper } from "../interpreter/sandbox-reaper.ts";
import { policyWithin } from "../sandbox/grants.ts";
import type { LocalSandboxes } from "../sandbox/local-sandboxes-options.ts";
import { DEFAULT_BASE, type Principal, type Sandbox } from "../sandbox/sandbox.ts";
import { installByNpm } from "./npm.ts";
import { indexOf, type PackageIndex, type PackageSettings } from "./package-index.ts";
import type { PackageLock } from "./package-lock.ts";
import { workFolder } from "./package-places.ts";
import { installByPip } from "./pip.ts";
import type { PackageWish } from "./requirements.ts";
import { failed, type Installing } from "./run-installer.ts";

/** An install ends before its sandbox does. */
const SANDBOX_MS = 600_000;

export interface PreparedPackagesOptions extends PackageSettings {
  /** What the names of its snapshots begin with: packages that others prepare are none of its own. */
  readonly prefix: string;
  readonly sandboxes: Pick<LocalSandboxes, "create" | "hiddenSnapshots">;
}

/** Called before the packages are frozen. */
export type Look<T> = (sandbox: Sandbox, lock: PackageLock) => Promise<T>;

export interface Resolved<T> {
  readonly lock: PackageLock;
  readonly seen: T;
}

type From = Omit<PackageWish, "requirements"> & ({ readonly requirements: readonly string[] } | { readonly lock: string });

/**
 * Packages that are installed once, each set in a hidden snapshot that calls begin with. A set is one owner's: packages that run code when
 * they are installed or used never do so for another owner. The sandbox of an install reaches the index and nothing else, has no secret, and
 * none of the code that asks for the packages. Disposing ends these sandboxes.
 */
export class PreparedPackages implements AsyncDisposable {
  readonly #options: PreparedPackagesOptions;
  readonly #reaper = new SandboxReaper();
  readonly #turns = new TurnsByKey();
  /** Snapshots by the keys of their locks, as far as this process has met them. */
  readonly #known = new Map<string, string>();

  constructor(options: PreparedPackagesOptions) {
    this.#options = options;
  }

  /** The same for the same packages from the same index. */
  nameOf({ installer, mayBuild, requirements }: PackageWish): string {
    return hash([DEFAULT_BASE.template, indexOf(installer, this.#options).name, installer, mayBuild, requirements]);
  }

  /** Installs the newest packages that fit. Rejects with `TOOL_DEPENDENCIES_FAILED`, and `FORBIDDEN` for a caller who may not reach the index. */
  async resolve(principal: Principal, wish: PackageWish, signal: AbortSignal): Promise<PackageLock> {
    return (await this.resolveAnd(principal, wish, signal, async () => undefined)).lock;
  }

  /** The same, and looks into the sandbox with the packages before they are kept. They are not if that rejects. */
  // eslint-disable-next-line max-params -- who, what, how long, and then
  async resolveAnd<T>(principal: Principal, wish: PackageWish, signal: AbortSignal, look: Look<T>): Promise<Resolved<T>> {
    const { installer, mayBuild } = wish;
    return this.#install(principal, wish, signal, async (sandbox, text) => {
      const key = hash([principal.id, DEFAULT_BASE.template, indexOf(installer, this.#options).name, installer, mayBuild, text]);
      const lock: PackageLock = { wish: this.nameOf(wish), key, installer, text, ...(mayBuild && { mayBuild }) };
      const seen = await look(sandbox, lock);
      await this.#turns.run(key, async () => (await this.#find(key)) ?? this.#freeze(sandbox, key, signal));
      return { lock, seen };
    });
  }

  /** The hidden snapshot with these packages. One that was lost is installed again, with the same packages. Rejects as `resolve`. */
  async snapshotOf(principal: Principal, lock: PackageLock, signal: AbortSignal): Promise<string> {
    const { key, installer, mayBuild = false, text } = lock;
    const find = (): Promise<string | undefined> => this.#find(key);
    const prepare = (): Promise<string> =>
      this.#install(principal, { installer, mayBuild, lock: text }, signal, (sandbox) => this.#freeze(sandbox, key, signal));
    return (await find()) ?? this.#turns.run(key, async () => (await find()) ?? prepare(), signal);
  }

  /** All that are there, whichever process made them. */
  async list(): Promise<readonly { readonly snapshot: string; readonly key: string }[]> {
    const { prefix, sandboxes } = this.#options;
    const all = await sandboxes.hiddenSnapshots.list();
    return all.flatMap(({ id, name }) => (name.startsWith(prefix) ? [{ snapshot: id, key: name.slice(prefix.length) }] : []));
  }

  /** Calls that have begun with it keep it. */
  async remove(snapshot: string): Promise<void> {
    await this.#options.sandboxes.hiddenSnapshots.remove(snapshot);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turns.idle();
    await this.#reaper[Symbol.asyncDispose]();
  }

  async #find(key: string): Promise<string | undefined> {
    const { hiddenSnapshots } = this.#options.sandboxes;
    const known = this.#known.get(key);
    if (known !== undefined && (await hiddenSnapshots.has(known))) return known;
    const found = (await this.list()).find((one) => one.key === key)?.snapshot;
    if (found === undefined) this.#known.delete(key);
    else this.#known.set(key, found);
    return found;
  }

  async #freeze({ id }: Sandbox, key: string, signal: AbortSignal): Promise<string> {
    const { prefix, sandboxes } = this.#options;
    const snapshot = await sandboxes.hiddenSnapshots.create(id, prefix + key, signal);
    this.#known.set(key, snapshot);
    return snapshot;
  }

  // eslint-disable-next-line max-params -- who, what, how long, and then
  async #install<T>(
    principal: Principal,
    from: From,
    signal: AbortSignal,
    then: (sandbox: Sandbox, lock: string) => Promise<T>,
  ): Promise<T> {
    const index = indexOf(from.installer, this.#options);
    await assertReaches(principal, index);
    const options = { network: index.network, isHidden: true, ephemeral: true, timeoutMs: SANDBOX_MS } as const;
    const sandbox = await this.#options.sandboxes.create(principal, options, signal);
    return this.#reaper.reapAfter(sandbox, async () => {
      const lock = await install({ sandbox, signal, named: `${namesOf(from)} from ${index.name}` }, from, index);
      await sandbox.guest.files.remove(workFolder(sandbox), { signal, recursive: true });
      return then(sandbox, lock);
    });
  }
}

function install(work: Installing, { installer, mayBuild, ...from }: From, index: PackageIndex): Promise<string> {
  if (installer === "pip") return installByPip(work, { index, mayBuild, from });
  if (index.kind === "address") return installByNpm(work, { index, mayBuild, from });
  throw failed(work.named, "npm installs from no folder");
}

function namesOf(from: From): string {
  if ("requirements" in from) return from.requirements.join(", ");
  if (from.installer === "npm") return "those of its package-lock.json";
  const lines = from.lock.trimEnd().split("\n");
  return lines.map((line) => line.split(" ", 1).join("")).join(", ");
}

async function assertReaches(principal: Principal, { network, name }: PackageIndex): Promise<void> {
  if ((await policyWithin(network, principal)) === network) return;
  const rules = typeof network === "string" ? network : network.allow.join(",");
  throw new BelljarError(
    "FORBIDDEN",
    `This caller may not reach ${name}, where packages come from: use a token with the scope network:${rules}`,
  );
}

function hash(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 40);
}
