import { encodeFields, type Field } from "../../protocol/fields.ts";
import { encodeHead } from "../../protocol/head.ts";
import { OPERATION } from "../../protocol/wire.ts";
import type { SandboxSpec } from "../contract/sandbox-spec.ts";
import { deadlineFields } from "../guest/keeper-client.ts";
import { CGROUP_KIND, type CgroupBase } from "./cgroups.ts";
import { ID_MAP_KIND, type IdMap } from "./id-map.ts";
import { coversWorkspace } from "../guest/mounts.ts";
import { memoryOf, setupSteps, type StepsRequest } from "./jail-steps.ts";
import { INSIDE } from "../../protocol/inside.ts";

const STORAGE = { home: 1, tmpfs: 2, btrfs: 3 } as const;
const EPHEMERAL = 1;
const NESTED_FILTERS = 8;
export const HAS_LAYERS = 16;
const REMOVE_LAYERS = 32;
const NO_ROOT = 64;
const CLEAR_FLAGS: Readonly<Record<Keeper, number>> = { unknown: 0, gone: 2, silent: 4 };

/** What is known of the keeper of a folder that is to be cleared: nothing, that it is gone, or that it says nothing and must end. */
export type Keeper = "unknown" | "gone" | "silent";
const SLOTS = 32_768;
/** Where a sandbox lies on the host, and whose its files are: what its removal needs too. */
export interface JailPaths {
  readonly id: string;
  /** Which run of the sandbox. */
  readonly generation: number;
  /** The run's own. */
  readonly folder: string;
  readonly sockets: string;
  /** The writable layers. */
  readonly layers: string;
  readonly slots: string;
  readonly idMap: IdMap;
  readonly storage: keyof typeof STORAGE;
}

export interface JailRequest extends StepsRequest {
  readonly place: JailPaths;
  readonly cgroups: readonly CgroupBase[];
  /** What the control groups can hold here: of a v2 group that is delegated in part, the jail must not write the rest. */
  readonly groupLimits: readonly (keyof SandboxSpec["limits"])[];
  readonly bootId: string;
  /** Who owns the workspace on the host. */
  readonly workspaceOwner?: { readonly uid: number; readonly gid: number };
}

function wishFlags({ ephemeral, nestedFilters, root }: SandboxSpec): number {
  return (ephemeral ? EPHEMERAL : 0) | (nestedFilters ? NESTED_FILTERS : 0) | (root === false ? NO_ROOT : 0);
}

/** Where commands start, where that is neither a workspace nor the home: a template says so. A shared folder at `/workspace` is no workspace. */
function startFolder({ spec, template }: JailRequest): string | undefined {
  const { cwd, workspace } = spec.inside;
  const isMoved = spec.workspace === undefined && (cwd !== workspace || coversWorkspace(spec.mounts));
  const isTold = template.programs !== undefined || isMoved;
  return isTold ? cwd : undefined;
}

/** The specification that the jail reads from its standard input. */
export function encodeJailSpec(request: JailRequest): Buffer {
  const { spec } = request;
  return encodeHead(OPERATION.JAIL, [
    ...placeFields(request.place),
    ["HOSTNAME", spec.hostname],
    ["SLOT", slotOf(spec.id)],
    ["VALUE", request.bootId],
    ...deadlineFields(spec.deadline, spec.deadlineAction),
    ["FLAGS", wishFlags(spec) | layersFlag(request.place)],
    ["SEED", request.base.seed],
    ["USER", ownUser(request)],
    ["CWD", startFolder(request)],
    ["WORKSPACE_UID", request.workspaceOwner?.uid],
    ["WORKSPACE_GID", request.workspaceOwner?.gid],
    ...limitFields(request),
    ...request.cgroups.map(({ kind, path }): Field => [
      "CGROUP",
      encodeFields([
        ["KIND", CGROUP_KIND[kind]],
        ["PATH", path],
      ]),
    ]),
    ...setupSteps(request).map((step): Field => ["SETUP", encodeFields(step)]),
  ]);
}

/** Undefined: the guest's own default. */
function ownUser({ spec, template }: JailRequest): string | undefined {
  if (spec.user !== undefined) return spec.user;
  return template.user === INSIDE.user || spec.root === false ? undefined : template.user;
}

export interface ClearRequest {
  readonly keeper: Keeper;
  /** The sandbox is deleted. */
  readonly removesLayers: boolean;
}

/** What `clear` reads: the place alone. A keeper that was waited for is gone, though a dying child may still hold its lock. */
export function encodeClearSpec(place: JailPaths, { keeper, removesLayers }: ClearRequest): Buffer {
  const flags = CLEAR_FLAGS[keeper] | layersFlag(place) | (removesLayers ? REMOVE_LAYERS : 0);
  return encodeHead(OPERATION.JAIL, [...placeFields(place), ["FLAGS", flags]]);
}

/** The first run makes the layers. */
function layersFlag({ generation }: JailPaths): number {
  return generation > 1 ? HAS_LAYERS : 0;
}

export function placeFields(place: JailPaths): Field[] {
  return [
    ["ID", place.id],
    ["RUN", place.generation],
    ["FOLDER", place.folder],
    ["SOCKETS", place.sockets],
    ["LAYERS", place.layers],
    ["SLOTS", place.slots],
    ["STORAGE", STORAGE[place.storage]],
    ...idMapFields(place.idMap),
  ];
}

/** Any spread will do: the jail takes the next free slot. */
function slotOf(id: string): number {
  return Number.parseInt(id.slice(0, 8), 36) % SLOTS;
}

function idMapFields(idMap: IdMap): Field[] {
  const kind: Field = ["ID_MAP", ID_MAP_KIND[idMap.kind]];
  if (idMap.kind !== "subids") return [kind];
  return [kind, ["SUBUID", idMap.subuid], ["SUBGID", idMap.subgid], ["NEWUIDMAP", idMap.newuidmap], ["NEWGIDMAP", idMap.newgidmap]];
}

function limitFields({ spec, place, groupLimits }: JailRequest): Field[] {
  const { memoryBytes, cpus, pids, diskBytes, openFiles } = spec.limits;
  const cpuMilli = cpus === undefined ? undefined : Math.max(1, Math.round(cpus * 1000));
  return [
    ["LIMIT_MEMORY", groupLimits.includes("memoryBytes") ? memoryBytes : undefined],
    ["LIMIT_CPU_MILLI", groupLimits.includes("cpus") ? cpuMilli : undefined],
    ["LIMIT_PIDS", pids],
    ["LIMIT_DISK", diskBytes ?? (place.storage === "tmpfs" ? memoryOf(spec) : undefined)],
    ["LIMIT_FILES", openFiles],
  ];
}
