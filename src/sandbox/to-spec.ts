import type { RecordedRun } from "../runtime/contract/run.ts";
import type { SandboxSpec } from "../runtime/contract/sandbox-spec.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import { baseOf } from "./template-source.ts";

/** What differs from run to run. */
export type RunWishes = Pick<SandboxSpec, "deadline" | "deadlineAction"> & Partial<Pick<SandboxSpec, "required" | "mounts">>;

/** What of a record decides how its runs are made. */
export type RunRecord = Pick<
  SandboxRecord,
  "base" | "template" | "user" | "lineage" | "limits" | "required" | "ephemeral" | "workspace" | "nestedFilters" | "root"
>;

/** What the runtime is asked to start. `required` comes on top of the limits that every run of the sandbox must have. */
export function toSpec(run: RecordedRun, record: RunRecord, { required = [], mounts = [], ...wishes }: RunWishes): SandboxSpec {
  const { user, lineage, limits, ephemeral, workspace, nestedFilters, root } = record;
  const layers = lineage?.[0]?.layers;
  return {
    ...run,
    base: { template: baseOf(record), ...(layers && { layers }) },
    hostname: run.id,
    limits,
    required: [...new Set([...record.required, ...required])],
    ephemeral,
    ...wishes,
    ...(workspace && { workspace }),
    ...(mounts.length > 0 && { mounts }),
    ...(nestedFilters && { nestedFilters }),
    ...(root === false && { root }),
    ...(user !== undefined && { user }),
  };
}
