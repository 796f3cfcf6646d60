import type { PauseReason, SandboxEnd, Usage } from "../runtime/contract/run.ts";
import type { RunLook } from "../runtime/contract/runtime.ts";
import type { Limits } from "../runtime/contract/sandbox-spec.ts";
import { formatPolicy } from "./network-ceiling.ts";
import type { NetworkState } from "./network/network-state.ts";
import { firstState } from "./network/network-state.ts";
import type { ListFilter, SandboxInfo } from "./sandbox.ts";
import { toShortId } from "./sandbox-id.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import { madeFields } from "./wire/sandbox-schema.ts";

/** Of a sandbox that lives, as far as is known, and does not answer. */
export interface Silence {
  /** Who owes the answer. */
  readonly silent:
    | "its keeper does not answer"
    | "its guest does not answer"
    | "it is being taken down, which takes long"
    | `this Belljar does not have its runtime "${string}"`;
  readonly deadline?: Date;
}

/** How a sandbox ended or was stopped, or how it is now. */
export type Life = SandboxEnd | Usage | Silence;

/** As much of it as is told. */
export type ToldLife = SandboxEnd | RunLook | Silence;

export interface SandboxFacts {
  readonly life: ToldLife;
  /** The limits that this host enforces. */
  readonly enforced: readonly (keyof Limits)[];
  /** Of one that lives. */
  readonly network?: NetworkState;
}

/** What a caller may know of a sandbox. */
export function toSandboxInfo(record: SandboxRecord, { life, enforced, network }: SandboxFacts): SandboxInfo {
  return {
    ...asMade(record),
    shortId: toShortId(record.id),
    inside: foldersOf(record),
    unenforced: unenforced(record.limits, enforced),
    ...toNetwork(network ?? firstState(record)),
    ...toState(life),
  };
}

const MADE = Object.keys(madeFields) as readonly (keyof typeof madeFields)[];

function asMade(record: SandboxRecord): Pick<SandboxRecord, keyof typeof madeFields> {
  const fields = MADE.flatMap((name) => (record[name] === undefined ? [] : [[name, record[name]] as const]));
  return Object.fromEntries(fields) as Pick<SandboxRecord, keyof typeof madeFields>;
}

function foldersOf({ inside: { home, workspace, cwd } }: SandboxRecord): SandboxInfo["inside"] {
  return { home, workspace, cwd };
}

function toNetwork({ policy, ceiling }: NetworkState): Pick<SandboxInfo, "network" | "networkCeiling"> {
  return { network: policy, ...(formatPolicy(policy) !== formatPolicy(ceiling) && { networkCeiling: ceiling }) };
}

function toState(life: ToldLife): Pick<SandboxInfo, "state" | "stateReason" | "deadline" | "onDeadline" | "endedAt" | "endReason"> {
  if ("reason" in life) return { state: life.kept ? "stopped" : "ended", endedAt: life.at, endReason: life.reason };
  const deadline = life.deadline && { deadline: life.deadline };
  if ("silent" in life) return { state: "unresponsive", stateReason: life.silent, ...deadline };
  const state = life.phase === "paused" ? "paused" : "running";
  const why = life.pauseReason && PAUSED_BECAUSE[life.pauseReason];
  return { state, ...(why && { stateReason: why }), ...deadline, onDeadline: life.deadlineAction };
}

const PAUSED_BECAUSE: Readonly<Record<PauseReason, string | undefined>> = {
  asked: undefined,
  deadline: "its deadline has passed",
  idle: "it was idle",
};

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
