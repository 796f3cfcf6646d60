import { createHash } from "node:crypto";
import { CREATOR } from "../creator.ts";
import type { SandboxRecord } from "../sandbox-record.ts";

/**
 * Names what a sandbox is made of: two of the same key differ in nothing that cannot be set once they live. Undefined for what no pool has:
 * a workspace, volumes and the files of a snapshot, which are mounted when the sandbox is made, and limits that must be enforced, which only a create
 * checks.
 */
export function poolKey(record: SandboxRecord, version: string): string | undefined {
  const { workspace, volumes, lineage, required } = record;
  return workspace || volumes || lineage || required.length > 0 ? undefined : hashOf(record, [version]);
}

/**
 * The same for what begins with a hidden snapshot, which is of this one alone. Each is made as the create before it was, so that limits
 * that must be enforced are. Undefined for what does not die with this process: its snapshot's owner may be gone by then.
 */
export function poolKeyOfSnapshot(record: SandboxRecord, snapshot: string, version: string): string | undefined {
  const { workspace, volumes, ephemeral, base, user, required } = record;
  return workspace || volumes || !ephemeral ? undefined : `${snapshot}-${hashOf(record, [version, base, user, required.toSorted()])}`;
}

function hashOf(record: SandboxRecord, more: readonly unknown[]): string {
  const { runtime, template, limits, root, nestedFilters, ephemeral, inside } = record;
  // An ephemeral one dies with the process that made it, so no other may have it.
  const made = [...more, runtime, template, sorted(limits), root ?? true, nestedFilters ?? false, ephemeral && CREATOR, sorted(inside)];
  return createHash("sha256").update(JSON.stringify(made)).digest("hex").slice(0, 32);
}

function sorted(value: object): readonly unknown[] {
  return Object.entries(value)
    .filter(([, one]) => one !== undefined)
    .map(([name, one]) => [name, typeof one === "object" && one !== null ? sorted(one as object) : one] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
}
