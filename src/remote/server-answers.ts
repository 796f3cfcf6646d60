import * as z from "zod";
import { BelljarError, ERRORS } from "../errors.ts";
import type { ErrorCode } from "../errors.ts";
import { parseJson } from "../files/parse-json.ts";
import { networkPolicySchema, secretUsesSchema } from "../sandbox/network-schema.ts";
import { SANDBOX_STATES } from "../sandbox/sandbox.ts";

const limits = z.object({
  memoryBytes: z.number().optional(),
  cpus: z.number().optional(),
  pids: z.number().optional(),
  diskBytes: z.number().optional(),
  openFiles: z.number().optional(),
});

export const sandboxInfo = z.object({
  id: z.string(),
  shortId: z.string(),
  owner: z.string(),
  state: z.enum(SANDBOX_STATES),
  stateReason: z.string().optional(),
  template: z.string(),
  runtime: z.string(),
  createdAt: z.coerce.date(),
  deadline: z.coerce.date().optional(),
  endedAt: z.coerce.date().optional(),
  endReason: z.enum(["killed", "deadline", "out_of_memory", "exited", "host_lost", "keeper_lost", "create_failed"]).optional(),
  limits,
  unenforced: z.array(limits.keyof()),
  network: networkPolicySchema,
  networkCeiling: networkPolicySchema.optional(),
  secrets: secretUsesSchema.optional(),
  workspace: z.object({ path: z.string(), mode: z.enum(["copy", "ro", "rw"]) }).optional(),
  nestedFilters: z.boolean().optional(),
  metadata: z.record(z.string(), z.string()),
  defaultName: z.string().optional(),
});

export const usage = z.object({
  memoryBytes: z.number(),
  memoryPeakBytes: z.number(),
  cpuUs: z.number(),
  processes: z.number(),
  oomKills: z.number(),
  phase: z.enum(["running", "paused", "ending"]),
  deadline: z.coerce.date().optional(),
});

export const isolation = z.object({
  runtime: z.string(),
  available: z.boolean(),
  checks: z.array(
    z.object({ id: z.string(), state: z.enum(["enforced", "partial", "absent"]), detail: z.string(), remedy: z.string().optional() }),
  ),
  limits: z.array(limits.keyof()),
  users: z.enum(["two", "one"]),
  terminals: z.boolean(),
  pause: z.boolean(),
});

const failure = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** Throws `SERVER_INCOMPATIBLE` for an answer of another shape. */
export function parseAnswer<Schema extends z.ZodType>(schema: Schema, body: string): z.output<Schema> {
  const parsed = schema.safeParse(parseJson(body));
  if (parsed.success) return parsed.data;
  throw incompatible("an answer of an unknown shape", parsed.error);
}

/** The server's error, with its own code; `INTERNAL` when this version has no such code. */
export function parseFailure(status: number, body: string): BelljarError {
  const parsed = failure.safeParse(parseJson(body));
  if (!parsed.success) return incompatible(`status ${status} without a reason`);
  const { code, message } = parsed.data.error;
  return new BelljarError(isErrorCode(code) ? code : "INTERNAL", message);
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

function incompatible(what: string, cause?: unknown): BelljarError {
  return new BelljarError("SERVER_INCOMPATIBLE", `The server sent ${what}; check that BELLJAR_URL names a Belljar of this version`, {
    cause,
  });
}
