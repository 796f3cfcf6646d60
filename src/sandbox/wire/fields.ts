import * as z from "zod";
import type { DeadlineAction, EndReason } from "../../runtime/contract/run.ts";
import type { Limits, Workspace } from "../../runtime/contract/sandbox-spec.ts";
import type { CopyReason } from "../../runtime/contract/state-store.ts";

/** A `Date` here, ISO 8601 in UTC on disk and on the wire. */
export const dateField = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString(),
});

/** The schema of an object of the type: a field that is forgotten, or of another type, does not compile. */
export function schemaOf<Type>() {
  return <Shape extends { readonly [Key in keyof Required<Type>]: z.ZodType<Type[Key]> }>(shape: Shape) => z.object(shape);
}

const limit = z.number().positive().optional();

export const limitsSchema = schemaOf<Limits>()({
  memoryBytes: limit,
  cpus: limit.describe("Cores; may be a fraction"),
  pids: limit.describe("Processes and threads"),
  diskBytes: limit,
  openFiles: limit.describe("Open files of each process"),
});

export const limitName = limitsSchema.keyof();

export const workspaceSchema = schemaOf<Workspace>()({
  path: z.string().min(1).describe("Folder of the host, absolute"),
  mode: z.enum(["copy", "ro", "rw"]),
});

const END_REASONS = {
  stopped: true,
  killed: true,
  deadline: true,
  out_of_memory: true,
  exited: true,
  host_lost: true,
  keeper_lost: true,
  create_failed: true,
  expired: true,
  no_room: true,
  files_lost: true,
} as const satisfies Record<EndReason, true>;

export const endReason = z.enum(Object.keys(END_REASONS) as [EndReason, ...EndReason[]]);

export const deadlineAction = z.enum(["kill", "pause", "stop"]) satisfies z.ZodType<DeadlineAction>;

export const copyReason = z.enum(["durable", "stopped", "paused", "programs", "depth", "place"]) satisfies z.ZodType<CopyReason>;

/** Whether a checkpoint is taken before each tool call that may write. */
export const autoCheckpoint = z.enum(["per_call", "off"]);

export const textsSchema = z.record(z.string(), z.string());
