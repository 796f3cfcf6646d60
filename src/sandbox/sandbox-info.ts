import type { Limits, SandboxEnd, Usage } from "../runtime/runtime.ts";
import { formatPolicy } from "./network-ceiling.ts";
import type { NetworkState } from "./network/network-state.ts";
import { firstState } from "./network/network-state.ts";
import type { ListFilter, SandboxInfo } from "./sandbox.ts";
import { toShortId } from "./sandbox-id.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

/** Of a sandbox that lives and does not answer. */
export interface Silence {
  /** Who owes the answer. */
  readonly silent: "its keeper does not answer" | "its guest does not answer" | "it is being taken down, which takes long";
  readonly deadline?: Date;
}

/** How a sandbox ended, or how it is now. */
export type Life = SandboxEnd | Usage | Silence;

export interface SandboxFacts {
  readonly life: Life;
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
    ...(record.nestedFilters && { nestedFilters: true }),
    metadata: record.metadata,
    ...(record.workspace && { workspace: record.workspace }),
    ...(record.defaultName !== undefined && { defaultName: record.defaultName }),
    ...toState(life),
  };
}

function toNetwork({ policy, ceiling }: NetworkState): Pick<SandboxInfo, "network" | "networkCeiling"> {
  return { network: policy, ...(formatPolicy(policy) !== formatPolicy(ceiling) && { networkCeiling: ceiling }) };
}

function toState(life: Life): Pick<SandboxInfo, "state" | "stateReason" | "deadline" | "endedAt" | "endReason"> {
  if ("reason" in life) return { state: "ended", endedAt: life.at, endReason: life.reason };
  const deadline = life.deadline && { deadline: life.deadline };
  if ("silent" in life) return { state: "unresponsive", stateReason: life.silent, ...deadline };
  return { state: life.phase === "paused" ? "paused" : "running", ...deadline };
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
