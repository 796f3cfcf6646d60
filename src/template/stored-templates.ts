import { LOCAL, type Principal, type TemplateInfo } from "../sandbox/sandbox.ts";
import type { HomeTemplates, TemplateSource } from "../sandbox/template-source.ts";
import { BuildArchives } from "./archives/build-archives.ts";
import { openStepFiles, type StepFiles } from "./build/step-cache.ts";
import { BuildFiles } from "./builds/build-files.ts";
import { TemplateFiles } from "./template-files.ts";
import { shownSource, type TemplateRecord, toSource } from "./template-record.ts";
import type { TemplateDetail } from "./wire/template-schema.ts";

/** The templates of a home, from its files alone: what any process has done is seen at once. */
export class StoredTemplates implements HomeTemplates {
  readonly files: TemplateFiles;
  /** What builds keep for later ones. */
  readonly steps: StepFiles;
  readonly builds: BuildFiles;
  /** Of files that builds copy. */
  readonly archives: BuildArchives;
  /** By their ids, those that this process makes and tries before they have their names. */
  readonly #tried = new Map<string, { readonly owner: string; readonly source: TemplateSource }>();

  constructor(home: string, report: (problem: string) => void) {
    this.files = new TemplateFiles(home, report);
    this.steps = openStepFiles(home, report);
    this.builds = new BuildFiles(home);
    this.archives = new BuildArchives(home);
  }

  async find(principal: Principal, name: string, owner?: string): Promise<TemplateSource | undefined> {
    const tried = owner === undefined ? this.#tried.get(name) : undefined;
    if (tried?.owner === principal.id) return tried.source;
    const record = await this.record(principal, name, owner);
    return record && toSource(record);
  }

  /** While `work` goes on, its maker's sandboxes of this process may begin with it, by its id. */
  async whileTried<T>({ id: owner }: Principal, source: TemplateSource, work: () => Promise<T>): Promise<T> {
    this.#tried.set(source.id, { owner, source });
    try {
      return await work();
    } finally {
      this.#tried.delete(source.id);
    }
  }

  async list(principal: Principal): Promise<readonly TemplateInfo[]> {
    return (await this.records(principal)).map((record) => ({
      name: record.name,
      description: record.description ?? madeFrom(shownSource(record, principal.id)),
    }));
  }

  /** Also of those that were replaced by a process that died before it removed them. The layers of all that goes are left to the sweep of layers. */
  async sweep(): Promise<void> {
    const all = await this.files.list();
    const newest = new Set(newestOfEach(all));
    for (const record of all) if (!newest.has(record)) await this.files.retract(record.id);
    await this.files.sweep();
    await this.steps.sweep();
    await this.builds.sweep();
    await this.archives.sweep();
  }

  async isUser(id: string): Promise<boolean> {
    return (await this.files.isUser(id)) || this.steps.isUser(id);
  }

  /** `owner`: whose it must be. Default: as `records` has it. */
  async record(principal: Principal, name: string, owner?: string): Promise<TemplateRecord | undefined> {
    return (await this.#seen(principal)).find((record) => record.name === name && (owner ?? record.owner) === record.owner);
  }

  /** One of each name: of its own the newest, and of those that others share under names that it has not the first of `#shared`. */
  async records(principal: Principal): Promise<readonly TemplateRecord[]> {
    const seen = await this.#seen(principal);
    return seen.filter(({ name }, at) => seen.findIndex((other) => other.name === name) === at);
  }

  /** Whose template everybody gets by this name who has none of their own. */
  async sharer(name: string): Promise<string | undefined> {
    return this.#shared(await this.files.list()).find((record) => record.name === name)?.owner;
  }

  async #seen(principal: Principal): Promise<readonly TemplateRecord[]> {
    const all = await this.files.list();
    const own = newestOfEach(all).filter(({ owner }) => owner === principal.id);
    return [...own, ...this.#shared(all).filter(({ owner }) => owner !== principal.id)];
  }

  /** The local user's first, then what has been shared for the longest time: nobody takes over a name that others start from. */
  #shared(all: readonly TemplateRecord[]): readonly TemplateRecord[] {
    const since = new Map(all.flatMap(({ id }) => [[id, this.files.sharedSince(id)] as const].filter(([, at]) => at !== undefined)));
    const rank = ({ id, owner }: TemplateRecord): number => (owner === LOCAL.id ? -1 : (since.get(id) ?? Infinity));
    const shared = newestOfEach(all.filter(({ id }) => since.has(id)));
    return shared.toSorted((one, other) => rank(one) - rank(other) || (one.id < other.id ? -1 : 1));
  }
}

/** Of each owner and name. The newest of all first. */
function newestOfEach(records: readonly TemplateRecord[]): readonly TemplateRecord[] {
  const sorted = records.toSorted(newestFirst);
  return sorted.filter(({ owner, name }, at) => sorted.findIndex((other) => other.owner === owner && other.name === name) === at);
}

export function newestFirst(one: TemplateRecord, other: TemplateRecord): number {
  return other.createdAt.getTime() - one.createdAt.getTime() || (one.id < other.id ? -1 : 1);
}

function madeFrom(source: TemplateDetail["source"]): string {
  switch (source.kind) {
    case "image":
      return `The image ${source.from}`;
    case "snapshot":
      return `The snapshot ${source.id}`;
    case "debian":
      return `Debian ${source.suite}`;
    case "folder":
      return `The folder ${source.path}`;
    case "dockerfile":
      return `A Dockerfile from ${source.from}`;
  }
}
