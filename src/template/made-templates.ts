import { BelljarError } from "../errors.ts";
import { createSandboxId } from "../sandbox/sandbox-id.ts";
import { LOCAL, type Principal } from "../sandbox/sandbox.ts";
import type { ClaimRoom } from "../sandbox/state/claim-room.ts";
import { templateUser } from "../sandbox/template-source.ts";
import type { BuildArchives } from "./archives/build-archives.ts";
import { FollowedBuilds } from "./builds/followed-builds.ts";
import { PlannedBuilds } from "./builds/planned-builds.ts";
import { makeTemplate } from "./making/make-template.ts";
import type { Begun, MakingParts, Wish } from "./making/making.ts";
import { nameTaken, noTemplate, parseOptions } from "./parse-options.ts";
import { pruneOwner } from "./prune-owner.ts";
import { assertRoom } from "./quota-room.ts";
import { newestFirst } from "./stored-templates.ts";
import { openTemplateRoom } from "./template-files.ts";
import { type TemplateRecord, toDetail } from "./template-record.ts";
import type { BuildLog } from "./templates.ts";
import type { TemplatesInSteps } from "./templates-in-steps.ts";
import type { PrunedSteps, TemplateDetail, TemplateOptions } from "./wire/template-schema.ts";

export interface MadeTemplatesOptions extends MakingParts {
  /** Told, in one sentence, what a person should know though no call fails. */
  readonly report: (problem: string) => void;
}

/** Makes and removes the templates of a home. */
export class MadeTemplates implements TemplatesInSteps, AsyncDisposable {
  readonly #options: MadeTemplatesOptions;
  readonly #room: ClaimRoom;
  readonly builds: FollowedBuilds;
  readonly planned: PlannedBuilds;
  readonly archives: BuildArchives;

  constructor(options: MadeTemplatesOptions) {
    this.#options = options;
    const { stored, report } = options;
    this.builds = new FollowedBuilds({ files: stored.builds, make: (begun) => this.#makeAll(begun), report });
    this.planned = new PlannedBuilds(stored.builds, this.builds);
    this.archives = stored.archives;
    this.#room = openTemplateRoom(options.home, options.stored.files);
  }

  async list(principal: Principal): Promise<readonly TemplateDetail[]> {
    const { stored } = this.#options;
    return (await stored.records(principal)).map((record) => toDetail(record, stored.files.isShared(record.id), principal));
  }

  async info(principal: Principal, name: string): Promise<TemplateDetail> {
    const { stored } = this.#options;
    const record = await stored.record(principal, name);
    if (record) return toDetail(record, stored.files.isShared(record.id), principal);
    throw noTemplate(name);
  }

  // eslint-disable-next-line max-params -- the contract's
  async make(principal: Principal, options: TemplateOptions, signal: AbortSignal, log: BuildLog = () => {}): Promise<TemplateDetail> {
    return this.#make({ principal, id: createSandboxId(), options: parseOptions(options, principal), log, signal });
  }

  /** Stops the builds that nobody waits for. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.builds[Symbol.asyncDispose]();
  }

  /** Of its own. One that has the name already is replaced. */
  // eslint-disable-next-line max-params -- what waits takes a signal
  async copy(principal: Principal, name: string, to: string, signal: AbortSignal): Promise<TemplateDetail> {
    const [found] = await this.#own(principal, name);
    if (!found) throw noTemplate(name);
    const options = { ...parseOptions({ name: to, dockerfile: "FROM base" }, principal), dockerfile: undefined };
    return this.#copy({ principal, id: createSandboxId(), options, log: () => {}, signal }, found);
  }

  /** A build that was planned gives all names to its template. */
  async #makeAll(begun: Begun): Promise<void> {
    const { id } = await this.#make(begun);
    const { principal, work, signal, log } = begun;
    const made = await this.#options.stored.files.read(id);
    for (const name of work?.names.slice(1) ?? [])
      if (made) await this.#copy({ principal, id: createSandboxId(), options: { name }, log, signal }, made);
  }

  #copy(begun: Begun, copyOf: TemplateRecord): Promise<TemplateDetail> {
    const { limits, description } = copyOf;
    const options = { ...begun.options, ...(limits && { limits }), ...(description !== undefined && { description }) };
    return this.#make({ ...begun, options, copyOf });
  }

  async #make(begun: Begun): Promise<TemplateDetail> {
    const { principal, options } = begun;
    const { files } = this.#options.stored;
    const wish = { ...begun, earlier: await this.#room.claim(principal, { id: begun.id, owner: principal.id, name: options.name }) };
    try {
      const record = await this.#toRecord(wish);
      await this.#keep(principal, record);
      await this.#replaceEarlier(record).catch((cause: unknown) => this.#options.report(notReplaced(record, cause)));
      return toDetail(record, false, principal);
    } catch (cause) {
      await files.forget(wish.id);
      throw cause;
    }
  }

  /** If there is no room for it, nothing is left of it. */
  async #keep(principal: Principal, record: TemplateRecord): Promise<void> {
    try {
      await assertRoom(this.#options, principal, record);
      await this.#options.stored.files.commit(record);
    } catch (cause) {
      await this.#letGo(record).catch(() => undefined); // a sweep does
      throw cause;
    }
  }

  /** An earlier one of the name may be left by a process that died before it replaced it: it goes first, and does not come back. */
  async remove(principal: Principal, name: string): Promise<void> {
    const found = await this.#own(principal, name);
    let isRemoved = false;
    for (const record of found.toReversed()) isRemoved = (await this.#discard(record)) || isRemoved;
    if (!isRemoved) throw noTemplate(name);
  }

  prune(principal: Principal): Promise<PrunedSteps> {
    return pruneOwner(this.#options, principal);
  }

  async share(principal: Principal, name: string, isShared: boolean): Promise<TemplateDetail> {
    if (principal.grants && !principal.grants.sharesTemplates)
      throw new BelljarError("FORBIDDEN", "This token may share no template: it needs the scope template-share");
    const found = await this.#own(principal, name);
    const [newest] = found;
    if (!newest) throw noTemplate(name);
    if (isShared) await this.#share(newest);
    else for (const { id } of found) await this.#options.stored.files.share(id, false);
    return toDetail(newest, isShared, principal);
  }

  /** The local user's goes before all others of the name. Another one must be the only one. */
  async #share({ id, name, owner }: TemplateRecord): Promise<void> {
    const { stored } = this.#options;
    const isTaken = async (): Promise<boolean> => owner !== LOCAL.id && ![owner, undefined].includes(await stored.sharer(name));
    if (await isTaken()) throw nameTaken(name);
    await stored.files.share(id, true);
    if (!(await isTaken())) return;
    await stored.files.share(id, false); // another call was quicker
    throw nameTaken(name);
  }

  async #toRecord(wish: Wish): Promise<TemplateRecord> {
    const { id, principal, options } = wish;
    const { name, description, start, limits = {} } = options;
    const making = await makeTemplate(this.#options, wish);
    const createdAt = await this.#now(principal, name);
    const wished = {
      ...(description !== undefined && { description }),
      ...(start && { start }),
      ...(Object.keys(limits).length > 0 && { limits }),
    };
    return { version: 1, id, name, owner: principal.id, createdAt, ...making, ...wished };
  }

  /** Later than all others of the name, also if the clock was set back. */
  async #now({ id }: Principal, name: string): Promise<Date> {
    const times = (await this.#named(id, name)).map(({ createdAt }) => createdAt.getTime() + 1);
    return new Date(Math.max(Date.now(), ...times));
  }

  /** The newest first, which is the one that counts. Rejects if there is none. */
  async #own({ id: owner }: Principal, name: string): Promise<readonly TemplateRecord[]> {
    const found = await this.#named(owner, name);
    if (found.length > 0) return found.toSorted(newestFirst);
    throw noTemplate(name);
  }

  /** Of two that were made at once the later one stays: whoever looks takes the newest. */
  async #replaceEarlier({ id, owner, name, createdAt }: TemplateRecord): Promise<void> {
    const earlier = (await this.#named(owner, name)).filter((one) => one.id !== id && one.createdAt < createdAt);
    for (const one of earlier) await this.#discard(one);
  }

  async #named(owner: string, name: string): Promise<readonly TemplateRecord[]> {
    return (await this.#options.stored.files.list()).filter((record) => record.owner === owner && record.name === name);
  }

  /** Whether it was there. */
  async #discard(record: TemplateRecord): Promise<boolean> {
    const { files } = this.#options.stored;
    if (!(await files.retract(record.id))) return false;
    await this.#letGo(record);
    await files.forget(record.id);
    return true;
  }

  async #letGo({ id, runtime, layers, parts = [] }: TemplateRecord): Promise<void> {
    const { runtimes } = this.#options;
    await runtimes.of({ runtime })?.layers.states?.letGo([...layers, ...parts], templateUser({ id }));
  }
}

function notReplaced({ name }: TemplateRecord, cause: unknown): string {
  return `An earlier template "${name}" cannot be removed yet: ${String(cause)}`;
}
