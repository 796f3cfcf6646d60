import type { Principal, TemplateInfo } from "../sandbox/sandbox.ts";
import type { HomeTemplates, TemplateSource } from "../sandbox/template-source.ts";
import { openStepFiles, type StepFiles } from "./build/step-cache.ts";
import { BuildFiles } from "./builds/build-files.ts";
import { TemplateFiles } from "./template-files.ts";
import { type TemplateRecord, toSource } from "./template-record.ts";
import type { TemplateDetail } from "./wire/template-schema.ts";

/** The templates of a home, from its files alone: what any process has done is seen at once. */
export class StoredTemplates implements HomeTemplates {
  readonly files: TemplateFiles;
  /** What builds keep for later ones. */
  readonly steps: StepFiles;
  readonly builds: BuildFiles;
  /** By their ids, those that this process makes and tries before they have their names. */
  readonly #tried = new Map<string, { readonly owner: string; readonly source: TemplateSource }>();

  constructor(home: string, report: (problem: string) => void) {
    this.files = new TemplateFiles(home, report);
    this.steps = openStepFiles(home, report);
    this.builds = new BuildFiles(home);
  }

  async find(principal: Principal, name: string): Promise<TemplateSource | undefined> {
    const tried = this.#tried.get(name);
    if (tried?.owner === principal.id) return tried.source;
    const record = await this.record(principal, name);
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
    return (await this.records(principal)).map(({ name, description, source }) => ({ name, description: description ?? madeFrom(source) }));
  }

  /** Also of those that were replaced by a process that died before it removed them. The layers of all that goes are left to the sweep of layers. */
  async sweep(): Promise<void> {
    const all = (await this.files.list()).toSorted(newestFirst);
    const isReplaced = ({ owner, name }: TemplateRecord, at: number): boolean =>
      all.findIndex((other) => other.owner === owner && other.name === name) < at;
    for (const { id } of all.filter(isReplaced)) await this.files.retract(id);
    await this.files.sweep();
    await this.steps.sweep();
    await this.builds.sweep();
  }

  async isUser(id: string): Promise<boolean> {
    return (await this.files.isUser(id)) || this.steps.isUser(id);
  }

  async record(principal: Principal, name: string): Promise<TemplateRecord | undefined> {
    return (await this.records(principal)).find((record) => record.name === name);
  }

  /** One of each name, the newest: of its own, and of those that others share under names that it has not. */
  async records(principal: Principal): Promise<readonly TemplateRecord[]> {
    const all = (await this.files.list()).toSorted(newestFirst);
    const own = all.filter(({ owner }) => owner === principal.id);
    const shared = all.filter(({ owner, id }) => owner !== principal.id && this.files.isShared(id));
    const seen = [...own, ...shared];
    return seen.filter(({ name }, at) => seen.findIndex((other) => other.name === name) === at);
  }
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
