import * as z from "zod";
import { networkPolicySchema, secretUsesSchema } from "../../sandbox/network-schema.ts";
import { SANDBOX_STATES } from "../../sandbox/sandbox.ts";

const positive = z.number().int().positive().max(Number.MAX_SAFE_INTEGER);
const pairs = z
  .record(z.string().min(1).max(256), z.string().max(4096))
  .refine((record) => Object.keys(record).length <= 256, "at most 256 entries");

const limits = z.strictObject({
  memoryBytes: positive.optional(),
  cpus: z.number().positive().max(4096).optional(),
  pids: positive.optional(),
  diskBytes: positive.optional(),
  openFiles: positive.optional(),
});

const workspace = z.strictObject({
  path: z.string().min(1).max(4096).startsWith("/", "must be an absolute path on the server"),
  mode: z.enum(["copy", "ro", "rw"]),
});

/** `POST /v1/sandboxes`; the fields of `CreateOptions`. */
export const createBody = z.strictObject({
  template: z.string().min(1).max(128).optional(),
  limits: limits.optional(),
  bestEffort: z.boolean().optional(),
  network: networkPolicySchema.optional(),
  networkCeiling: networkPolicySchema.optional(),
  secrets: secretUsesSchema.optional(),
  workspace: workspace.optional(),
  metadata: pairs.optional(),
  env: pairs.optional(),
  timeoutMs: positive.optional(),
  ephemeral: z.boolean().optional(),
  nestedFilters: z.boolean().optional(),
});

/** A default sandbox outlives its callers. */
export const defaultBody = createBody.omit({ ephemeral: true });

export const extendBody = z.strictObject({ timeoutMs: positive });

export const idParams = z.object({ id: z.string().regex(/^[a-z0-9]{1,20}$/, "must be an id or a short id") });
export const nameParams = z.object({ name: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/) });

const state = z.enum(SANDBOX_STATES);
const many = <Schema extends z.ZodType>(schema: Schema) => z.union([z.array(schema).max(8), schema.transform((one) => [one])]);

/** `?state=running&state=paused&metadata.key=value`. */
export const listQuery = z.record(z.string(), z.unknown()).transform((query, context) => {
  const states = many(state).optional().safeParse(query["state"]);
  const metadata = pairs.safeParse(metadataOf(query));
  const unknown = Object.keys(query).filter((key) => key !== "state" && !key.startsWith(METADATA));
  if (states.success && metadata.success && unknown.length === 0) return { state: states.data, metadata: metadata.data };
  context.addIssue({ code: "custom", message: `filter with state=${SANDBOX_STATES.join("|")} and metadata.KEY=VALUE` });
  return z.NEVER;
});

const METADATA = "metadata.";

function metadataOf(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(query).filter(([key]) => key.startsWith(METADATA));
  return Object.fromEntries(entries.map(([key, value]) => [key.slice(METADATA.length), value]));
}
