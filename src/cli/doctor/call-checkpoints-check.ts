import type { HostIsolation } from "../../sandbox/runtimes.ts";
import type { AutoCheckpointSettings } from "../../sandbox/state/auto-checkpoints.ts";

type Settings = Required<AutoCheckpointSettings>;

/** Adds whether most sandboxes have a checkpoint before each call that may write, and why. */
export function withCallCheckpointsCheck(isolation: HostIsolation, settings: Settings): HostIsolation {
  if (!isolation.available) return isolation;
  const check = { id: "call-checkpoints", state: "enforced", detail: tell(isolation.states, settings) } as const;
  return { ...isolation, checks: [...isolation.checks, check] };
}

function tell(states: HostIsolation["states"], { autoCheckpoint, autoCheckpointKeep }: Settings): string {
  const taken = `A checkpoint is taken before each tool call that may write, and the last ${autoCheckpointKeep} are kept`;
  if (states === "none") return "No checkpoints before tool calls: this runtime keeps no states";
  if (autoCheckpoint === "off") return "No checkpoints before tool calls: sandbox.autoCheckpoint is off";
  if (states === "clone") return `${taken}: it takes the same time for any number of files`;
  if (autoCheckpoint === "per_call") return `${taken}: each copies what the sandbox wrote`;
  return "No checkpoints before tool calls, since each would copy what the sandbox wrote: sandbox.autoCheckpoint per_call takes them all the same";
}
