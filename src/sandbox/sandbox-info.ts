import type { Limits, SandboxEnd, Usage } from "../runtime/runtime.ts";
import type { ListFilter, SandboxInfo } from "./sandbox.ts";
import { toShortId } from "./sandbox-id.ts";
import type { SandboxRecord } from "./sandbox-record.ts";

/** What a caller may know of a sandbox; `life` is its end, or how it is now. */
export function toSandboxInfo(record: SandboxRecord, life: SandboxEnd | Usage, enforced: readonly (keyof Limits)[]): SandboxInfo {
  return {
    id: record.id,
    shortId: toShortId(record.id),
    owner: record.owner,
    template: record.template,
    runtime: record.runtime,
    createdAt: record.createdAt,
    limits: record.limits,
    unenforced: unenforced(record.limits, enforced),
    network: record.network,
    metadata: record.metadata,
    ...(record.workspace && { workspace: record.workspace }),
    ...(record.defaultName !== undefined && { defaultName: record.defaultName }),
    ...toState(life),
  };
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
