import * as z from "zod";
import type { ChangedPaths, Checkpoint, SnapshotInfo } from "../../sandbox/wire/state-schemas.ts";
import { copyReason } from "../../sandbox/wire/fields.ts";
import { SHOWN_BYTES } from "../max-bytes.ts";
import { fitRows } from "../shown-rows.ts";

const ROWS_MAX = 1_000;
const PATHS_MAX = 256;

/** How a state was taken. */
const Frozen = {
  way: z.enum(["clone", "copy"]).describe("copy: it took longer the more the sandbox had written"),
  copied: copyReason.optional().describe("Why: programs (one was alive, such as a kernel), durable (a snapshot), ..."),
  still_ms: z.number().describe("How long its programs stood still"),
};

export const ShownSnapshot = z.object({
  snapshot_id: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
  created_at: z.string(),
  sandbox_id: z.string(),
  workspace: z.string().optional().describe("Folder of the host whose own files are not in it"),
  took_in: z.string().optional().describe("Folder of the host whose files are in it"),
  ...Frozen,
});

export const ShownCheckpoint = z.object({
  checkpoint_id: z.string(),
  label: z.string().optional(),
  created_at: z.string(),
  parent_id: z.string().optional().describe("The checkpoint before it"),
  before_tool: z.string().optional().describe("It was taken unasked, before a call of this tool"),
  ...Frozen,
});

export const ShownPaths = z.object({
  changed: z.array(z.string()).describe("Paths that were written or removed"),
  conflicts: z.array(z.object({ path: z.string(), reason: z.string() })).describe("Left as they are"),
  omitted: z.number().int().optional().describe("Further paths and conflicts that are not shown"),
});

export function toShownSnapshot({ id, name, description, createdAt, sandbox, workspace, tookIn, ...frozen }: SnapshotInfo) {
  return {
    snapshot_id: id,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    created_at: createdAt.toISOString(),
    sandbox_id: sandbox,
    ...(workspace && { workspace: workspace.path }),
    ...(tookIn !== undefined && { took_in: tookIn }),
    ...toFrozen(frozen),
  };
}

export function toShownCheckpoint({ id, label, createdAt, parent, before, ...frozen }: Checkpoint) {
  return {
    checkpoint_id: id,
    ...(label !== undefined && { label }),
    created_at: createdAt.toISOString(),
    ...(parent !== undefined && { parent_id: parent }),
    ...(before !== undefined && { before_tool: before }),
    ...toFrozen(frozen),
  };
}

function toFrozen({ way, copyReason: copied, stillMs }: Pick<Checkpoint, "way" | "copyReason" | "stillMs">) {
  return { way, ...(copied && { copied }), still_ms: toTenths(stillMs) };
}

/** Conflicts have the first right to the room: something must be done about them. */
export function toShownPaths({ changed, conflicts }: ChangedPaths) {
  const half = { rows: ROWS_MAX, bytes: SHOWN_BYTES / 2 };
  const shownConflicts = fitRows(conflicts, half, (conflict) => JSON.stringify(conflict));
  const shownPaths = fitRows(changed, half, (path) => JSON.stringify(path));
  const omitted = changed.length - shownPaths.length + conflicts.length - shownConflicts.length;
  return { changed: shownPaths, conflicts: shownConflicts, ...(omitted > 0 && { omitted }) };
}

/** Rows of a list, as many as one result has room for. */
export function fitShown<Row>(rows: readonly Row[]): readonly Row[] {
  return fitRows(rows, { rows: ROWS_MAX, bytes: SHOWN_BYTES }, (row) => JSON.stringify(row));
}

export function pathsArgument(what: string) {
  const path = z
    .string()
    .min(1)
    .max(4_096)
    .refine((text) => !text.includes("\0"), "must not hold a NUL byte");
  return z.array(path).min(1).max(PATHS_MAX).optional().describe(what);
}

function toTenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
