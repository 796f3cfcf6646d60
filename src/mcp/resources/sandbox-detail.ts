import type { SandboxInfo } from "../../sandbox/sandbox.ts";

/** A sandbox as its resource shows it. Whose it is need not be told: only its owner reads it. */
export function toDetail(info: SandboxInfo) {
  return {
    id: info.id,
    short_id: info.shortId,
    state: info.state,
    state_reason: info.stateReason ?? null,
    template: info.template,
    runtime: info.runtime,
    created_at: info.createdAt.toISOString(),
    deadline: info.deadline?.toISOString() ?? null,
    ended_at: info.endedAt?.toISOString() ?? null,
    end_reason: info.endReason ?? null,
    limits: info.limits,
    unenforced: info.unenforced,
    network: info.network,
    workspace: info.workspace ?? null,
    metadata: info.metadata,
    default_name: info.defaultName ?? null,
  };
}
