import { BelljarError } from "../../errors.ts";
import { digestOf } from "../../files/canonical.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { HubServer, ServerUpdate } from "./hub-server.ts";
import { failed, launchOf } from "./prepare/open-server-sandbox.ts";
import type { PackageLaunch } from "./prepare/package-launch.ts";
import type { InstalledProgram, PackagePrograms } from "./prepare/package-programs.ts";
import { type ListBudget, ListShare } from "./relay/list-budget.ts";
import { type Listed, listServer } from "./relay/list-server.ts";
import { type InstanceParts, openInstance } from "./server-instance.ts";
import { changedSince } from "./sources/pin-file.ts";
import type { ServerPin } from "./sources/server-pin.ts";

/** How a server is updated. */
export interface UpdateWish {
  /** Takes nothing. */
  readonly look?: boolean | undefined;
  /** Takes what was looked at, and nothing else. */
  readonly digest?: string | undefined;
}

export interface ServerUpdatesParts extends InstanceParts {
  readonly programs?: PackagePrograms | undefined;
  readonly pin: ServerPin;
  readonly budget: ListBudget;
}

interface Who {
  readonly principal: Principal;
  readonly signal: AbortSignal;
}

/** What somebody has looked at. */
interface Looked {
  readonly digest: string;
  /** Of the program. */
  readonly key: string;
  /** Of what it lists. Undefined where that could not be seen. */
  readonly listed?: string;
}

/** The new versions of the package of one server, which a person looks at before one is taken. */
export class ServerUpdates {
  readonly #parts: ServerUpdatesParts;
  readonly #server: HubServer;
  #looked: Looked | undefined;

  constructor(parts: ServerUpdatesParts, server: HubServer) {
    this.#parts = parts;
    this.#server = server;
  }

  /** Installs the newest version, and asks it once for what it lists, beside what runs. Rejects with `NOT_SUPPORTED`, and as the install does. */
  async look(who: Who): Promise<ServerUpdate> {
    const { programs, launch } = this.#package();
    const { key, installed, ...versions } = await this.#named(programs.look(who.principal, launch, who.signal));
    if (!installed) return versions;
    const found = await this.#list(installed, who).catch((cause: unknown) => toProblem(cause, who.signal));
    if (found instanceof BelljarError) {
      this.#looked = { key, digest: digestOf([key]) };
      return { ...versions, problem: found.message, digest: this.#looked.digest };
    }
    const { capabilities: _capabilities, ...lists } = found;
    const { changes, told, digest: listed } = await this.#parts.pin.compare(lists);
    this.#looked = { key, listed, digest: digestOf([key, listed]) };
    return { ...versions, changes: told, changed: changes.length, digest: this.#looked.digest };
  }

  /** Takes the newest version, or that of the digest. `approves`: the digest of the definitions that were shown. Rejects as `Upstream.update`. */
  async take(
    digest: string | undefined,
    { principal, signal }: Who,
  ): Promise<{ readonly updated: ServerUpdate; readonly approves?: string }> {
    const { programs, launch } = this.#package();
    if (digest === undefined) return { updated: await this.#named(programs.update(principal, launch, signal)) };
    const looked = this.#looked;
    if (looked?.digest !== digest) throw changedSince(this.#server.name);
    const updated = await this.#named(programs.take(principal, launch, looked.key, signal));
    if (!updated) throw changedSince(this.#server.name);
    this.#looked = undefined;
    return { updated, ...(looked.listed !== undefined && { approves: looked.listed }) };
  }

  #package(): { readonly programs: PackagePrograms; readonly launch: PackageLaunch } {
    const { programs } = this.#parts;
    const launch = programs && launchOf(this.#server);
    if (launch) return { programs, launch };
    const advice = "only what npx, uvx and their like start in a sandbox is installed by Belljar; restart it to start it anew";
    throw new BelljarError("NOT_SUPPORTED", `The server "${this.#server.name}" is no package: ${advice}`);
  }

  #named<T>(work: Promise<T>): Promise<T> {
    return work.catch((cause: unknown) => failed(this.#server.name, "was not updated", cause));
  }

  /**
   * Nobody has agreed to this version yet: it has what the entry gives it, so that it starts, and reaches nothing, so that it can send nothing of it. A
   * folder that it may write is a copy.
   */
  async #list(installed: InstalledProgram, { principal, signal }: Who): Promise<Listed> {
    const { name, settings } = this.#server;
    const mount = settings.mount && ({ ...settings.mount, mode: settings.mount.mode === "rw" ? "copy" : settings.mount.mode } as const);
    const server = { ...this.#server, settings: { ...settings, network: "none" as const, mount } };
    const parts = { ...this.#parts, programs: { prepare: async () => installed } };
    const nothing = (): void => undefined;
    const start = { principal, signal, events: { listChanged: nothing, resourceUpdated: nothing }, said: nothing, missed: nothing };
    const instance = await openInstance(parts, server, start);
    using share = new ListShare(this.#parts.budget, name);
    try {
      return await share.replace((take) => listServer(instance.session, { name, signal, report: nothing, leftOut: () => nothing, take }));
    } finally {
      await instance[Symbol.asyncDispose]();
    }
  }
}

function toProblem(cause: unknown, signal: AbortSignal): BelljarError {
  if (cause instanceof BelljarError && !signal.aborted) return cause;
  throw cause;
}
