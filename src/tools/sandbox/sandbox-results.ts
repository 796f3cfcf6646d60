import * as z from "zod";
import type { Sandbox, SandboxInfo } from "../../sandbox/sandbox.ts";
import { sandboxSchema } from "../../sandbox/wire/sandbox-schema.ts";

const MEBIBYTE = 1_048_576;

/** Tools that speak of a sandbox by its id, which is checked against its owner like every other. */
export function idArgument() {
  return z.string().min(1).max(64).describe("Id of one of your sandboxes, its beginning, or its name");
}

/** The same where the default sandbox is meant by leaving it out. */
export function ownIdArgument() {
  return idArgument().optional().describe("Default: your default sandbox");
}

/** What a new sandbox is called. `ip` is null: a sandbox has no address that others reach. */
export const Created = z.object({ id: z.string(), short_id: z.string(), ip: z.string().nullable(), created_at: z.string() });

/** What is not as it was, in the result of a tool that makes sandboxes from a state. */
export const lostField = z.array(z.string()).optional().describe("What is not as it was when the state was taken");

export async function toCreated(sandbox: Pick<Sandbox, "info">): Promise<z.output<typeof Created>> {
  const { id, shortId, createdAt } = await sandbox.info();
  return { id, short_id: shortId, ip: null, created_at: createdAt.toISOString() };
}

/** One sandbox of a list, by the names that E2B's API gives them. */
export const Listed = z.object({
  sandboxID: z.string(),
  templateID: z.string(),
  state: sandboxSchema.shape.state,
  stateReason: z.string().nullable().describe("Who does not answer"),
  startedAt: z.string(),
  endAt: z.string().nullable().describe("When it ends, or when it ended"),
  cpuCount: z.number().nullable().describe("null when it has no limit"),
  memoryMB: z.number().int().nullable().describe("null when it has no limit"),
  ip: z.string().nullable(),
  metadata: sandboxSchema.shape.metadata,
});

export function toListed({
  id,
  template,
  state,
  stateReason,
  createdAt,
  deadline,
  endedAt,
  limits,
  metadata,
}: SandboxInfo): z.output<typeof Listed> {
  return {
    sandboxID: id,
    templateID: template,
    state,
    stateReason: stateReason ?? null,
    startedAt: createdAt.toISOString(),
    endAt: (endedAt ?? deadline)?.toISOString() ?? null,
    cpuCount: limits.cpus ?? null,
    memoryMB: limits.memoryBytes === undefined ? null : Math.floor(limits.memoryBytes / MEBIBYTE),
    ip: null,
    metadata: { ...metadata },
  };
}

/** The limits that the document's arguments stand for. */
export function toLimits({ cpu, memory_mb: memoryMb }: { readonly cpu?: number | undefined; readonly memory_mb?: number | undefined }) {
  return { ...(cpu !== undefined && { cpus: cpu }), ...(memoryMb !== undefined && { memoryBytes: memoryMb * MEBIBYTE }) };
}

export const limitArguments = {
  cpu: z.number().min(0.01).max(4096).optional().describe("Cores, may be a fraction"),
  memory_mb: z.number().int().min(16).max(4_194_304).optional().describe("Memory in MiB"),
};
