import * as z from "zod";
import { parseJson } from "../files/parse-json.ts";
import type { EndReason } from "../runtime/runtime.ts";
import { networkPolicySchema, secretUsesSchema } from "./network-schema.ts";

const LIMIT = z.number().positive().optional();
const limits = z.object({ memoryBytes: LIMIT, cpus: LIMIT, pids: LIMIT, diskBytes: LIMIT, openFiles: LIMIT });
const date = z.iso.datetime().transform((text) => new Date(text));
const texts = z.record(z.string(), z.string());

const recordSchema = z.object({
  version: z.literal(1),
  id: z.string().regex(/^[a-z0-9]{20}$/),
  owner: z.string().min(1),
  runtime: z.string().min(1),
  template: z.string().min(1),
  createdAt: date,
  /** The process that makes it: while that lives, a sandbox this young may still be in the making. */
  creator: z.object({ pid: z.number().int().positive(), startedMs: z.number() }),
  deadline: date,
  /** How far each extension of a default sandbox reaches. */
  timeoutMs: z.number().positive(),
  limits,
  /** What it was made with; what it may reach now is in its network file once that changed. */
  network: networkPolicySchema,
  /** The most that a caller may give it on whom a model has a hand; absent: the same. */
  networkCeiling: networkPolicySchema.optional(),
  /** What of it may lead to places that are not of the public Internet; absent: all of its exact rules. */
  networkInside: networkPolicySchema.optional(),
  secrets: secretUsesSchema.optional(),
  /** What its variables hold in place of the secrets' values. */
  placeholders: texts.optional(),
  workspace: z.object({ path: z.string().min(1), mode: z.enum(["copy", "ro", "rw"]) }).optional(),
  metadata: texts,
  env: texts,
  ephemeral: z.boolean(),
  nestedFilters: z.boolean().optional(),
  defaultName: z.string().optional(),
});

/** What the journal says of a sandbox. Written once, before anybody can learn its id, and never changed. */
export type SandboxRecord = Readonly<z.output<typeof recordSchema>>;

const REASONS = {
  killed: true,
  deadline: true,
  out_of_memory: true,
  exited: true,
  host_lost: true,
  keeper_lost: true,
  create_failed: true,
} as const satisfies Record<EndReason, true>;

const tombstoneSchema = z.object({
  reason: z.enum(Object.keys(REASONS) as [EndReason, ...EndReason[]]),
  at: date,
  /** Whether the runtime has said that nothing of it is left. */
  isCleared: z.boolean(),
});

/** How a sandbox ended. */
export type Tombstone = Readonly<z.output<typeof tombstoneSchema>>;

/** Undefined when the text is no record of this sandbox. */
export function parseRecord(id: string, text: string): SandboxRecord | undefined {
  const record = recordSchema.safeParse(parseJson(text)).data;
  return record?.id === id ? record : undefined;
}

/** Undefined when the text is no tombstone. */
export function parseTombstone(text: string): Tombstone | undefined {
  return tombstoneSchema.safeParse(parseJson(text)).data;
}
