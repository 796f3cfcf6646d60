import { createHash } from "node:crypto";
import { CREATOR } from "../creator.ts";
import type { SandboxRecord } from "../sandbox-record.ts";

/**
 * Names what a sandbox is made of: two of the same key differ in nothing that cannot be set once they live. Undefined for what no pool has:
 * a workspace and the files of a snapshot, which are mounted when the sandbox is made, and limits that must be enforced, which only a create
 * checks.
 */
export function poolKey(record: SandboxRecord, version: string): string | undefined {
  const { runtime, template, limits, root, nestedFilters, ephemeral, inside, workspace, lineage, required } = record;
  if (workspace || lineage || required.length > 0) return undefined;
  // An ephemeral one dies with the process that made it, so no other may have it.
  const made = [version, runtime, template, sorted(limits), root ?? true, nestedFilters ?? false, ephemeral && CREATOR, sorted(inside)];
  return createHash("sha256").update(JSON.stringify(made)).digest("hex").slice(0, 32);
}

function sorted(value: object): readonly unknown[] {
  return Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => [name, typeof one === "object" && one !== null ? sorted(one as object) : one] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}
