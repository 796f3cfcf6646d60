import { BelljarError } from "../../errors.ts";
import type { Limits } from "../../runtime/contract/sandbox-spec.ts";
import { createSandboxId } from "../../sandbox/sandbox-id.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { markProcess } from "../../sandbox/workspace/apply/process-mark.ts";
import type { BuildWork } from "../making/making.ts";
import { parseOptions } from "../parse-options.ts";
import type { TemplateOptions } from "../wire/template-schema.ts";
import type { BuildFiles } from "./build-files.ts";
import { type BuildRecord, isWaiting, toBuild } from "./build-record.ts";
import { makeRoom } from "./build-room.ts";
import type { FollowedBuilds } from "./followed-builds.ts";
import { type LogEntry, type LogPlace, readEntries } from "./stamped-log.ts";

/** Builds whose logs are read on from where the last reader stopped. */
const PLACES_MAX = 1_000;

/** What a build is for, before anybody says what is built. */
export interface BuildPlan {
  /** Of the template. It gets them all, and what had them before is replaced. */
  readonly names: readonly [string, ...string[]];
  readonly limits?: Limits | undefined;
}

/** What a planned build has come to. */
export interface PlannedBuild {
  /** Of the template too, once it is made. */
  readonly id: string;
  readonly names: readonly string[];
  readonly state: "waiting" | "building" | "ready" | "failed";
  readonly startedAt: Date;
  readonly endedAt?: Date | undefined;
  /** Why it failed, and at which step. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly step: number;
}

export interface EntriesRange {
  /** How many entries were told before. */
  readonly offset: number;
  readonly limit: number;
}

/** Builds that are said before they are begun: the files that they copy come meanwhile. Nobody waits for them. */
export class PlannedBuilds {
  readonly #files: BuildFiles;
  readonly #followed: Pick<FollowedBuilds, "follow">;
  readonly #places = new Map<string, LogPlace>();

  constructor(files: BuildFiles, followed: Pick<FollowedBuilds, "follow">) {
    this.#files = files;
    this.#followed = followed;
  }

  /** Rejects as `Templates.make` does for names and limits. One that nobody begins is forgotten. */
  async plan(principal: Principal, { names, limits = {} }: BuildPlan): Promise<PlannedBuild> {
    for (const name of names) parseOptions({ name, limits, dockerfile: "FROM base" }, principal);
    const [name] = names;
    const record: BuildRecord = {
      version: 1,
      id: createSandboxId(),
      name,
      owner: principal.id,
      by: "",
      startedAt: new Date(),
      names,
      ...(Object.keys(limits).length > 0 && { limits }),
    };
    await this.#files.begin(record);
    await makeRoom(this.#files, principal);
    return toPlanned(record);
  }

  /**
   * Rejects with `TEMPLATE_NOT_FOUND`, with `TEMPLATE_BUSY` for one that has begun, and with `QUOTA_EXCEEDED` if too many go on: it can then be begun
   * later.
   */
  async begin(principal: Principal, id: string, work: BuildWork & Pick<TemplateOptions, "start" | "network">): Promise<void> {
    const { start, network, ...more } = work;
    const planned = await this.#find(principal, id);
    const record = { ...planned, by: (await markProcess()) ?? "", startedAt: new Date() };
    const { name, names = [name], limits } = record;
    if (!(await this.#files.start(record))) throw new BelljarError("TEMPLATE_BUSY", "This build has begun already: plan another one");
    try {
      await makeRoom(this.#files, principal);
    } catch (cause) {
      await this.#files.unstart(planned);
      throw cause;
    }
    const options = { name, ...(start && { start }), ...(network !== undefined && { network }), ...(limits && { limits }) };
    this.#followed.follow({ principal, id, options, work: { ...more, names } }, record);
  }

  async info(principal: Principal, id: string): Promise<PlannedBuild> {
    return toPlanned(await this.#find(principal, id));
  }

  /** Of the owner, the newest first. */
  async list({ id: owner }: Principal): Promise<readonly PlannedBuild[]> {
    const own = (await this.#files.list()).filter((one) => one.owner === owner && one.names);
    return Promise.all(own.toSorted((one, other) => other.startedAt.getTime() - one.startedAt.getTime()).map(toPlanned));
  }

  /** Lines of what it has said. Empty: there are no more yet, or at all if it has ended. */
  async entries(principal: Principal, id: string, { offset, limit }: EntriesRange): Promise<readonly LogEntry[]> {
    await this.#find(principal, id);
    const known = this.#places.get(id);
    const from = known && known.entry <= offset ? known : { entry: 0, byte: 0 };
    const { entries, next } = await readEntries(this.#files.log(id), { from, offset, limit });
    this.#remember(id, next);
    return entries;
  }

  #remember(id: string, place: LogPlace): void {
    this.#places.delete(id);
    this.#places.set(id, place);
    const [oldest] = this.#places.keys();
    if (this.#places.size > PLACES_MAX && oldest !== undefined) this.#places.delete(oldest);
  }

  /** Somebody else's build and none are the same answer. */
  async #find({ id: owner }: Principal, id: string): Promise<BuildRecord> {
    const found = await this.#files.find(id);
    if (found?.owner === owner && found.names) return found;
    throw new BelljarError("TEMPLATE_NOT_FOUND", "There is no such build of yours: builds are told of for a week");
  }
}

async function toPlanned(record: BuildRecord): Promise<PlannedBuild> {
  const { id, name, names = [name], startedAt, step = 0 } = record;
  if (isWaiting(record)) return { id, names, state: "waiting", startedAt, step };
  const { state, endedAt, error } = await toBuild(record);
  return { id, names, state, startedAt, endedAt, error, step };
}
