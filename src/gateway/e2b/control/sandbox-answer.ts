import { availableParallelism, totalmem } from "node:os";
import * as z from "zod";
import type { SandboxInfo } from "../../../sandbox/sandbox.ts";
import type { Asked } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { ENVD_VERSION } from "../e2b.ts";
import { domainFor } from "../e2b-domain.ts";
import { madeWith, metadataOf } from "./made-with.ts";
import { toEgress } from "./network-wish.ts";

const MEBIBYTE = 2 ** 20;
/** E2B's clients want one of each sandbox, and use it for nothing. */
const CLIENT_ID = "belljar";

/** What a client connects to a sandbox with. */
export const sandboxSchema = z.object({
  sandboxID: z.string(),
  templateID: z.string(),
  alias: z.string().optional(),
  clientID: z.string(),
  envdVersion: z.string(),
  envdAccessToken: z.string(),
  trafficAccessToken: z.string(),
  domain: z.string(),
  lost: z.array(z.string()).optional().describe("A sentence for each thing that is not as it was. An addition of Belljar's"),
});

export type SandboxAnswer = z.output<typeof sandboxSchema>;

const state = z.enum(["running", "paused"]);

/** One entry of a list. */
export const listedSchema = z.object({
  sandboxID: z.string(),
  templateID: z.string(),
  alias: z.string().optional(),
  clientID: z.string(),
  startedAt: z.iso.datetime(),
  endAt: z.iso.datetime(),
  state,
  cpuCount: z.int(),
  memoryMB: z.int(),
  diskSizeMB: z.int(),
  envdVersion: z.string(),
  metadata: z.record(z.string(), z.string()),
  volumeMounts: z.array(z.object({ name: z.string(), path: z.string() })),
});

export type ListedAnswer = z.output<typeof listedSchema>;

export const detailSchema = listedSchema.extend({
  envdAccessToken: z.string(),
  domain: z.string(),
  allowInternetAccess: z.boolean(),
  network: z.object({
    allowOut: z.array(z.string()).optional(),
    denyOut: z.array(z.string()).optional(),
    allowPublicTraffic: z.boolean(),
    maskRequestHost: z.string().optional(),
  }),
  lifecycle: z.object({ onTimeout: z.enum(["kill", "pause"]), autoResume: z.boolean() }),
});

export type DetailAnswer = z.output<typeof detailSchema>;

type Where = Pick<Asked, "origin">;

export function toSandboxAnswer(
  { tokens, domain }: Pick<E2b, "tokens" | "domain">,
  asked: Where,
  info: Pick<SandboxInfo, "id" | "template" | "metadata">,
): SandboxAnswer {
  return {
    sandboxID: info.id,
    ...templateOf(info),
    clientID: CLIENT_ID,
    envdVersion: ENVD_VERSION,
    envdAccessToken: tokens.of("access", info.id),
    trafficAccessToken: tokens.of("traffic", info.id),
    domain: domainFor(domain, asked.origin),
  };
}

export function toListed(info: SandboxInfo, { pausedRetentionMs }: Pick<E2b["settings"], "pausedRetentionMs">): ListedAnswer {
  const { limits } = info;
  return {
    sandboxID: info.id,
    ...templateOf(info),
    clientID: CLIENT_ID,
    startedAt: info.createdAt.toISOString(),
    endAt: endOf(info, pausedRetentionMs).toISOString(),
    state: stateOf(info),
    cpuCount: Math.max(1, Math.ceil(limits.cpus ?? availableParallelism())),
    memoryMB: toMebibytes(limits.memoryBytes ?? totalmem()),
    diskSizeMB: toMebibytes(limits.diskBytes ?? 0),
    envdVersion: ENVD_VERSION,
    metadata: { ...metadataOf(info.metadata) },
    volumeMounts: (info.volumes ?? []).map(({ name, path }) => ({ name, path })),
  };
}

export function toDetail(
  { tokens, settings, domain }: Pick<E2b, "tokens" | "settings" | "domain">,
  asked: Where,
  info: SandboxInfo,
): DetailAnswer {
  const made = madeWith(info.metadata);
  const { allowOut, denyOut } = toEgress(info.network);
  return {
    ...toListed(info, settings),
    envdAccessToken: tokens.of("access", info.id),
    domain: domainFor(domain, asked.origin),
    allowInternetAccess: info.network !== "none",
    network: {
      ...(allowOut && { allowOut: [...allowOut] }),
      ...(denyOut && { denyOut: [...denyOut] }),
      allowPublicTraffic: settings.publicTraffic && made?.allowPublicTraffic !== false,
      ...(made?.maskRequestHost !== undefined && { maskRequestHost: made.maskRequestHost }),
    },
    lifecycle: { onTimeout: made?.autoPause ? "pause" : "kill", autoResume: made?.autoResume ?? false },
  };
}

/** One that is stopped is paused for E2B's clients: connecting starts it. */
export function stateOf({ state: now }: Pick<SandboxInfo, "state">): "running" | "paused" {
  return now === "paused" || now === "stopped" ? "paused" : "running";
}

/** The name by which the client named it. What Belljar's other clients made has the domain's. */
export function templateOf({ template, metadata }: Pick<SandboxInfo, "template" | "metadata">): { templateID: string; alias?: string } {
  const name = madeWith(metadata)?.template ?? template;
  return { templateID: name, ...(/^[a-z0-9]{20}(?::default)?$/.test(name) ? {} : { alias: name.replace(/:default$/, "") }) };
}

/** Of one that is kept: when it is removed. */
function endOf({ deadline, keptUntil, endedAt, createdAt }: SandboxInfo, pausedRetentionMs: number): Date {
  return deadline ?? keptUntil ?? new Date((endedAt ?? createdAt).getTime() + pausedRetentionMs);
}

function toMebibytes(bytes: number): number {
  return Math.round(bytes / MEBIBYTE);
}
