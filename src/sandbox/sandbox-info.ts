import type { Limits, SandboxEnd, Usage } from "../runtime/runtime.ts";
import { formatPolicy } from "./network-ceiling.ts";
import type { NetworkState } from "./network/network-state.ts";
import { firstState } from "./network/network-state.ts";
import type { ListFilter, SandboxInfo } from "./sandbox.ts";
import { toShortId } from "./sandbox-id.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

export interface SandboxFacts {
  /** Its end, or how it is now. */
  readonly life: SandboxEnd | Usage;
  /** The limits that this host enforces. */
  readonly enforced: readonly (keyof Limits)[];
  /** Of one that lives. */
  readonly network?: NetworkState;
}

/** What a caller may know of a sandbox. */
export function toSandboxInfo(record: SandboxRecord, { life, enforced, network }: SandboxFacts): SandboxInfo {
  return {
    id: record.id,
    shortId: toShortId(record.id),
    owner: record.owner,
    template: record.template,
    runtime: record.runtime,
    createdAt: record.createdAt,
    limits: record.limits,
    unenforced: unenforced(record.limits, enforced),
    ...toNetwork(network ?? firstState(record)),
    ...(record.secrets && { secrets: record.secrets }),
    metadata: record.metadata,
    ...(record.workspace && { workspace: record.workspace }),
    ...(record.defaultName !== undefined && { defaultName: record.defaultName }),
    ...toState(life),
  };
}

function toNetwork({ policy, ceiling }: NetworkState): Pick<SandboxInfo, "network" | "networkCeiling"> {
  return { network: policy, ...(formatPolicy(policy) !== formatPolicy(ceiling) && { networkCeiling: ceiling }) };
}

function toState(life: SandboxEnd | Usage): Pick<SandboxInfo, "state" | "deadline" | "endedAt" | "endReason"> {
  if ("reason" in life) return { state: "ended", endedAt: life.at, endReason: life.reason };
  return { state: life.phase === "paused" ? "paused" : "running", ...(life.deadline && { deadline: life.deadline }) };
}

function unenforced(limits: Limits, enforced: readonly (keyof Limits)[]): (keyof Limits)[] {
  return (Object.keys(limits) as (keyof Limits)[]).filter((name) => limits[name] !== undefined && !enforced.includes(name));
}

export function matchesMetadata(record: SandboxRecord, filter: ListFilter): boolean {
  return Object.entries(filter.metadata ?? {}).every(
    ([key, value]) => Object.hasOwn(record.metadata, key) && record.metadata[key] === value,
  );
}

export function matchesState(info: SandboxInfo, filter: ListFilter): boolean {
  return filter.state === undefined || filter.state.includes(info.state);
}
