import { availableParallelism, totalmem } from "node:os";
import * as z from "zod";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { TemplateDetail } from "../../../template/wire/template-schema.ts";
import { ENVD_VERSION } from "../e2b.ts";
import { teamOf } from "./team.ts";
import { DEFAULT_TAG, fromDomainName, toBuildId } from "./template-names.ts";

const MIB = 2 ** 20;

export const idParams = z.object({ id: z.string().min(1).max(200).describe("The template's id, which is its name") });
export const buildParams = idParams.extend({ build: z.string().min(1).max(64).describe("A UUID") });

export const buildStatus = z.enum(["waiting", "building", "ready", "error"]);

const size = {
  cpuCount: z.number(),
  memoryMB: z.number(),
  diskSizeMB: z.number(),
};

export const templateSchema = z.object({
  templateID: z.string(),
  buildID: z.string(),
  ...size,
  public: z.boolean(),
  aliases: z.array(z.string()).readonly(),
  names: z.array(z.string()).readonly(),
  createdAt: z.string(),
  updatedAt: z.string(),
  createdBy: z.null(),
  lastSpawnedAt: z.null(),
  spawnCount: z.number(),
  buildCount: z.number(),
  envdVersion: z.string(),
  buildStatus,
});
export const templatesSchema = z.array(templateSchema).readonly();

export const templateBuildsSchema = z.object({
  templateID: z.string(),
  public: z.boolean(),
  aliases: z.array(z.string()).readonly(),
  names: z.array(z.string()).readonly(),
  createdAt: z.string(),
  updatedAt: z.string(),
  lastSpawnedAt: z.null(),
  spawnCount: z.number(),
  builds: z
    .array(
      z.object({
        buildID: z.string(),
        status: buildStatus,
        createdAt: z.string(),
        updatedAt: z.string(),
        finishedAt: z.string().optional(),
        ...size,
        envdVersion: z.string(),
      }),
    )
    .readonly(),
});

/** All tags of one name that the caller owns: at least one. The tag `default` first, then the newest. */
export interface TemplateFamily {
  readonly name: string;
  readonly tags: readonly [TemplateDetail, ...TemplateDetail[]];
}

/** The caller's own, by their names. */
export function familiesOf(all: readonly TemplateDetail[], { id }: Principal): readonly TemplateFamily[] {
  const byName = new Map<string, [TemplateDetail, ...TemplateDetail[]]>();
  for (const one of all.filter(({ owner }) => owner === id)) {
    const { name } = fromDomainName(one.name);
    const found = byName.get(name);
    if (found) found.push(one);
    else byName.set(name, [one]);
  }
  return [...byName].map(([name, tags]) => ({ name, tags: tags.toSorted(defaultFirst) as typeof tags }));
}

function defaultFirst(one: TemplateDetail, other: TemplateDetail): number {
  const isOther = ({ name }: TemplateDetail): number => (fromDomainName(name).tag === DEFAULT_TAG ? 0 : 1);
  return isOther(one) - isOther(other) || other.createdAt.getTime() - one.createdAt.getTime();
}

/** The build that a tag stands for. */
export function buildOf({ id, copyOf = id }: TemplateDetail): string {
  return toBuildId(copyOf);
}

/** What a sandbox of it may have. Nobody bounds it: all of the machine. */
export function sizeOf({ limits: { cpus, memoryBytes } = {}, bytes }: Pick<TemplateDetail, "limits" | "bytes">) {
  return {
    cpuCount: Math.max(1, Math.round(cpus ?? availableParallelism())),
    memoryMB: Math.round((memoryBytes ?? totalmem()) / MIB),
    diskSizeMB: Math.ceil(bytes / MIB),
  };
}

export function toTemplate({ name, tags }: TemplateFamily, caller: Principal): z.output<typeof templateSchema> {
  const [first] = tags;
  const times = tags.map(({ createdAt }) => createdAt.getTime());
  return {
    templateID: name,
    buildID: buildOf(first),
    ...sizeOf(first),
    public: first.isShared,
    aliases: [name],
    names: [`${teamOf(caller).slug}/${name}`],
    createdAt: new Date(Math.min(...times)).toISOString(),
    updatedAt: new Date(Math.max(...times)).toISOString(),
    createdBy: null,
    lastSpawnedAt: null,
    spawnCount: 0,
    buildCount: new Set(tags.map(buildOf)).size,
    envdVersion: ENVD_VERSION,
    buildStatus: "ready",
  };
}
