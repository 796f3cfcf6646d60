import type { Principal } from "../../sandbox/sandbox.ts";
import { BelljarError } from "../../errors.ts";
import type { NamedSpec, UnitRunner } from "../run/unit-runner.ts";
import type { UnitStore } from "../store/unit-store.ts";
import type { PackageLock } from "../../packages/package-lock.ts";
import type { PreparedPackages } from "../../packages/prepared-packages.ts";
import { type PackageWish, toWish } from "../../packages/requirements.ts";
import type { UnitHead } from "../unit.ts";
import { installerOf } from "./named-packages.ts";

export interface UnitPackagesOptions {
  readonly prepared: PreparedPackages;
  readonly runner: UnitRunner;
  readonly store: UnitStore;
  /** Of all units, as this process knows them. */
  readonly heads: () => Iterable<UnitHead>;
  readonly report: (problem: string) => void;
}

export interface WantedPackages extends NamedSpec {
  /** What was installed for the same requirements before does not count. */
  readonly resolvesAgain?: boolean | undefined;
}

/** Which packages units have, and which of those that are prepared no version needs any more. */
export class UnitPackages {
  readonly #options: UnitPackagesOptions;
  #busy = 0;
  #isLoose = false;

  constructor(options: UnitPackagesOptions) {
    this.#options = options;
  }

  /**
   * The packages of a version that is about to be kept; undefined if it names none. What another version of the owner has asked for is
   * neither resolved nor installed again, unless the version resolves again. Rejects as `PreparedPackages.resolve`, and with `TOOL_INVALID`.
   */
  async lockFor(principal: Principal, named: WantedPackages, signal: AbortSignal): Promise<PackageLock | undefined> {
    const wish = await this.#wishOf(principal, named, signal);
    if (!wish) return undefined;
    this.#isLoose = true;
    const known = named.resolvesAgain ? undefined : await this.#findLock(principal, wish, named.name);
    return known ?? this.#options.prepared.resolve(principal, wish, signal);
  }

  /** The same without an install: "unknown" where the packages that it names would have to be resolved first. */
  async knownLock(principal: Principal, named: NamedSpec, signal: AbortSignal): Promise<PackageLock | "unknown" | undefined> {
    const wish = await this.#wishOf(principal, named, signal);
    return wish && ((await this.#findLock(principal, wish, named.name)) ?? "unknown");
  }

  /** For work that adds or removes versions. Once none is under way, packages that no version names are removed. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#busy++;
    try {
      return await work();
    } finally {
      this.#busy--;
      if (this.#busy === 0 && this.#isLoose) await this.#removeLoose();
    }
  }

  /** A head is gone, or another one is in its place. */
  noteChange(before: UnitHead | undefined): void {
    this.#isLoose ||= before !== undefined && keysOf([before]).length > 0;
  }

  async #wishOf(principal: Principal, named: NamedSpec, signal: AbortSignal): Promise<PackageWish | undefined> {
    const { language, requirements = [], sdist = false } = named.spec;
    const installer = installerOf(language);
    if (!installer && requirements.length > 0)
      throw new BelljarError("TOOL_INVALID", "A shell tool has no requirements; its programs are those of its template");
    if (!installer) return undefined;
    const all = [...requirements, ...(await this.#options.runner.requirements(principal, named, signal))];
    return all.length === 0 ? undefined : toWish(installer, all, sdist);
  }

  /** The unit's own packages go before those of others, of which the newest are taken. */
  async #findLock({ id }: Principal, wish: PackageWish, unit: string): Promise<PackageLock | undefined> {
    const { prepared, store, heads } = this.#options;
    const name = prepared.nameOf(wish);
    const found = [...heads()].flatMap((head) => {
      const version = head.owner === id ? head.versions.findLast(({ packages }) => packages?.wish === name) : undefined;
      return version ? [{ head, version }] : [];
    });
    const rank = (head: UnitHead): number => (head.name === unit ? 0 : 1);
    const ranked = found.toSorted((a, b) => rank(a.head) - rank(b.head) || b.version.createdAt.getTime() - a.version.createdAt.getTime());
    for (const { head, version } of ranked) {
      const { lock } = (await store.version(id, head.name, version.number)) ?? {};
      if (lock) return lock;
    }
    return undefined;
  }

  /** What other processes have added meanwhile is read first. What they are about to add they install again. Never rejects. */
  async #removeLoose(): Promise<void> {
    this.#isLoose = false;
    const { store, prepared, heads, report } = this.#options;
    try {
      const isLoose = looseBeside(heads());
      if (!(await prepared.list()).some(isLoose)) return;
      const isStillLoose = looseBeside(await store.heads());
      for (const one of await prepared.list()) if (isLoose(one) && isStillLoose(one)) await prepared.remove(one.snapshot);
    } catch (cause) {
      report(`Packages that no tool needs stay for now: ${String(cause)}`);
    }
  }
}

function looseBeside(heads: Iterable<UnitHead>): (one: { readonly key: string }) => boolean {
  const keys = new Set(keysOf(heads));
  return ({ key }) => !keys.has(key);
}

function keysOf(heads: Iterable<UnitHead>): readonly string[] {
  return [...heads].flatMap(({ versions }) => versions.flatMap(({ packages }) => packages?.key ?? []));
}
