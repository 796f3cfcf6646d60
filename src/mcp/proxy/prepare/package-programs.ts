import { TurnsByKey } from "../../../async/turns-by-key.ts";
import { OwnedWork } from "../../../async/owned-work.ts";
import { BelljarError } from "../../../errors.ts";
import { PreparedPackages, type PreparedPackagesOptions } from "../../../packages/prepared-packages.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { findProgram } from "./find-program.ts";
import { type KeptProgram, KeptPrograms, type ProgramPlace } from "./kept-programs.ts";
import type { PackageLaunch } from "./package-launch.ts";

/** Of the names of the snapshots with packages of servers. */
export const SERVER_PACKAGES = "servers-";

export interface PackageProgramsOptions extends Omit<PreparedPackagesOptions, "prefix"> {
  /** Where it keeps which version each program has. */
  readonly folder: string;
  readonly report: (problem: string) => void;
}

/** A program that is installed, and the hidden snapshot that has it. */
export interface InstalledProgram extends Pick<KeptProgram, "program" | "version"> {
  readonly snapshot: string;
}

export interface UpdatedProgram {
  /** Absent: it was never started. */
  readonly before?: string;
  readonly now: string;
}

/** What an update would bring. */
export interface LookedProgram extends UpdatedProgram {
  /** Stands for exactly what was installed, with all that it depends on. */
  readonly key: string;
  /** Absent: it is what the owner has. */
  readonly installed?: InstalledProgram;
}

/** Of programs that were looked at, and may be taken. */
const LOOKED_MAX = 64;

/**
 * Programs of packages for servers of the hub, installed once for each owner. The first start decides which version of a package an owner has,
 * and later ones, of every process of the home, have the same until it is updated. What nobody has started for a month goes. Disposing ends
 * the installs.
 */
export class PackagePrograms implements AsyncDisposable {
  readonly #options: PackageProgramsOptions;
  readonly #packages: PreparedPackages;
  readonly #kept: KeptPrograms;
  readonly #turns = new TurnsByKey();
  readonly #work = new OwnedWork();
  /** What was looked at last for each place; its layer stays. */
  readonly #looked = new Map<string, KeptProgram>();
  #busy = 0;
  /** There may be packages that nobody needs: those of a process that was killed, or of an update. */
  #isLoose = true;

  constructor(options: PackageProgramsOptions) {
    this.#options = options;
    this.#packages = new PreparedPackages({ ...options, prefix: SERVER_PACKAGES });
    this.#kept = new KeptPrograms(options.folder);
  }

  /** Installs it, if nobody has yet. Rejects with `SERVER_UNREACHABLE`, and with `FORBIDDEN` for a caller who may not reach the index. */
  prepare(principal: Principal, launch: PackageLaunch, signal: AbortSignal): Promise<InstalledProgram> {
    return this.#inTurn(principal, launch, signal, async (place, own) => {
      const kept = (await this.#kept.read(place)) ?? (await this.#kept.keepFirst(place, await this.#resolve(principal, launch, own)));
      const snapshot = await this.#packages.snapshotOf(principal, kept.lock, own);
      await this.#kept.touch(place);
      return { program: kept.program, version: kept.version, snapshot };
    });
  }

  /** Installs what is the newest now. Rejects as `prepare`. */
  update(principal: Principal, launch: PackageLaunch, signal: AbortSignal): Promise<UpdatedProgram> {
    return this.#inTurn(principal, launch, signal, async (place, own) => {
      const before = await this.#kept.read(place);
      const kept = await this.#resolve(principal, launch, own);
      await this.#kept.keep(place, kept);
      return { ...(before && { before: before.version }), now: kept.version };
    });
  }

  /** Installs what is the newest now, for somebody who looks at it first: the owner keeps what it has. Rejects as `prepare`. */
  look(principal: Principal, launch: PackageLaunch, signal: AbortSignal): Promise<LookedProgram> {
    return this.#inTurn(principal, launch, signal, async (place, own) => {
      const before = await this.#kept.read(place);
      const found = await this.#resolve(principal, launch, own);
      const told = { ...(before && { before: before.version }), now: found.version, key: found.lock.key };
      if (before?.lock.key === found.lock.key) return told;
      this.#keepLooked(JSON.stringify(place), found);
      const { program, version } = found;
      return { ...told, installed: { program, version, snapshot: await this.#packages.snapshotOf(principal, found.lock, own) } };
    });
  }

  /** Takes what was looked at. Undefined if something else was looked at since, or nothing. */
  take(principal: Principal, launch: PackageLaunch, key: string, signal: AbortSignal): Promise<UpdatedProgram | undefined> {
    return this.#inTurn(principal, launch, signal, async (place) => {
      const looked = this.#looked.get(JSON.stringify(place));
      if (looked?.lock.key !== key) return undefined;
      const before = await this.#kept.read(place);
      await this.#kept.keep(place, looked);
      this.#looked.delete(JSON.stringify(place));
      this.#isLoose = true;
      return { ...(before && { before: before.version }), now: looked.version };
    });
  }

  /** The oldest goes first. */
  #keepLooked(place: string, found: KeptProgram): void {
    this.#looked.delete(place);
    this.#looked.set(place, found);
    const [oldest] = this.#looked.keys();
    if (this.#looked.size > LOOKED_MAX && oldest !== undefined) this.#looked.delete(oldest);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#work[Symbol.asyncDispose]();
    await this.#packages[Symbol.asyncDispose]();
  }

  async #resolve(principal: Principal, launch: PackageLaunch, signal: AbortSignal): Promise<KeptProgram> {
    const { installer } = launch.wish;
    const { lock, seen } = await this.#packages.resolveAnd(principal, launch.wish, signal, (sandbox) =>
      findProgram({ sandbox, installer }, launch, signal),
    );
    this.#isLoose = true;
    return { ...seen, lock };
  }

  /** Of several starts at once the first one installs. */
  // eslint-disable-next-line max-params -- who, what, how long, and then
  async #inTurn<T>(
    principal: Principal,
    launch: PackageLaunch,
    signal: AbortSignal,
    work: (place: ProgramPlace, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const place = { owner: principal.id, name: `${this.#packages.nameOf(launch.wish)} ${launch.program ?? ""}` };
    this.#busy += 1;
    try {
      return await this.#work.run(signal, (own) => this.#turns.run(JSON.stringify(place), () => work(place, own), own));
    } catch (cause) {
      throw explain(cause, launch);
    } finally {
      this.#busy -= 1;
      if (this.#busy === 0 && this.#isLoose) void this.#removeLoose();
    }
  }

  /** What another process is about to keep it installs again. Never rejects. */
  async #removeLoose(): Promise<void> {
    this.#isLoose = false;
    const remove = async (): Promise<void> => {
      const looked = [...this.#looked.values()].map(({ lock }) => lock.key);
      const needed = new Set([...(await this.#kept.removeOld()), ...looked]);
      for (const { snapshot, key } of await this.#packages.list()) if (!needed.has(key)) await this.#packages.remove(snapshot);
    };
    await this.#work.run(new AbortController().signal, remove).catch((cause: unknown) => {
      this.#options.report(`Packages that no server needs stay for now: ${String(cause)}`);
    });
  }
}

function explain(cause: unknown, { wish: { installer } }: PackageLaunch): unknown {
  if (!(cause instanceof BelljarError) || cause.code !== "TOOL_DEPENDENCIES_FAILED") return cause;
  const setting = installer === "pip" ? "tools.indexUrl" : "tools.registryUrl";
  return new BelljarError("SERVER_UNREACHABLE", `${cause.message}\n(${setting} of the configuration says where packages come from)`, {
    cause,
  });
}
