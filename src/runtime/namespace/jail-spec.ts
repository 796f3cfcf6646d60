import { encodeFields, type Field } from "../../protocol/fields.ts";
import { encodeHead } from "../../protocol/head.ts";
import { OPERATION } from "../../protocol/wire.ts";
import type { SandboxSpec, Workspace } from "../runtime.ts";
import { deadlineMs } from "../guest/keeper-client.ts";
import { CGROUP_KIND, type CgroupBase } from "./cgroups.ts";
import { ID_MAP_KIND, type IdMap } from "./id-map.ts";
import type { Template } from "./template/template.ts";

/** Numbers of `native/jail/jail.h`. */
const SETUP = { OVERLAY: 1, BIND: 2, TMPFS: 3, PROC: 4, DEVICES: 5, HELD: 6, READ_ONLY: 7, VIEW: 8 } as const;
const IDS = { HOST: 0, LAYER: 1, WORKSPACE: 2, NONE: 3 } as const;
const STORAGE = { home: 1, tmpfs: 2, btrfs: 3 } as const;
const EPHEMERAL = 1;
const NESTED_FILTERS = 8;
const CLEAR_FLAGS: Readonly<Record<Keeper, number>> = { unknown: 0, gone: 2, silent: 4 };

/** What is known of the keeper of a folder that is to be cleared: nothing, that it is gone, or that it says nothing and must end. */
export type Keeper = "unknown" | "gone" | "silent";
const WRITABLE = 1;

const HOME = "/home/user";
const INNER_ROOT = 0;
const INNER_USER = 1000;
const SLOTS = 32_768;
const MIB = 1024 * 1024;
const SCRATCH_BYTES = 1024 * MIB;

/** Belljar's own programs, and the folder above, which nobody may move away with them. */
const PROGRAMS = "/opt/belljar";
const PROGRAMS_PARENT = "/opt";

/** Where a sandbox lies on the host, and whose its files are: what its removal needs too. */
export interface JailPaths {
  readonly id: string;
  readonly folder: string;
  readonly sockets: string;
  /** The writable layers. */
  readonly layers: string;
  readonly slots: string;
  readonly idMap: IdMap;
  readonly storage: keyof typeof STORAGE;
}

export interface JailRequest {
  readonly place: JailPaths;
  readonly spec: SandboxSpec;
  readonly template: Template;
  readonly cgroups: readonly CgroupBase[];
  /** What the control groups can hold here: of a v2 group that is delegated in part, the jail must not write the rest. */
  readonly groupLimits: readonly (keyof SandboxSpec["limits"])[];
  readonly bootId: string;
  /** Who owns the workspace on the host. */
  readonly workspaceOwner?: { readonly uid: number; readonly gid: number };
}

/** The specification that the jail reads from its standard input. */
export function encodeJailSpec(request: JailRequest): Buffer {
  const { spec } = request;
  return encodeHead(OPERATION.JAIL, [
    ...placeFields(request.place),
    ["HOSTNAME", spec.hostname],
    ["SLOT", slotOf(spec.id)],
    ["VALUE", request.bootId],
    ["DEADLINE_MS", deadlineMs(spec.deadline)],
    ["FLAGS", (spec.ephemeral ? EPHEMERAL : 0) | (spec.nestedFilters ? NESTED_FILTERS : 0)],
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
    ...steps(request).map((step): Field => ["SETUP", encodeFields(step)]),
  ]);
}

/** What `clear` reads: the place alone. A keeper that was waited for is gone, though a dying child may still hold its lock. */
export function encodeClearSpec(place: JailPaths, keeper: Keeper): Buffer {
  return encodeHead(OPERATION.JAIL, [...placeFields(place), ["FLAGS", CLEAR_FLAGS[keeper]]]);
}

function placeFields(place: JailPaths): Field[] {
  return [
    ["ID", place.id],
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

function limitFields({ spec, groupLimits }: JailRequest): Field[] {
  const { memoryBytes, cpus, pids, diskBytes, openFiles } = spec.limits;
  const cpuMilli = cpus === undefined ? undefined : Math.max(1, Math.round(cpus * 1000));
  return [
    ["LIMIT_MEMORY", groupLimits.includes("memoryBytes") ? memoryBytes : undefined],
    ["LIMIT_CPU_MILLI", groupLimits.includes("cpus") ? cpuMilli : undefined],
    ["LIMIT_PIDS", pids],
    ["LIMIT_DISK", diskBytes],
    ["LIMIT_FILES", openFiles],
  ];
}

type Step = readonly Field[];

function steps({ spec, template }: JailRequest): readonly Step[] {
  const scratchBytes = spec.limits.memoryBytes ?? SCRATCH_BYTES;
  return [
    overlay("/", "root", { layers: template.rootLayers.map((path) => lower(IDS.LAYER, path)), owner: INNER_ROOT }),
    overlay("/usr", "usr", { layers: usrLayers(template), owner: INNER_ROOT }),
    [
      ["KIND", SETUP.DEVICES],
      ["TARGET", "/dev"],
      ["SIZE", Math.floor(scratchBytes / 2)],
    ],
    [
      ["KIND", SETUP.PROC],
      ["TARGET", "/proc"],
    ],
    [
      ["KIND", SETUP.READ_ONLY],
      ["TARGET", "/proc/sys"],
    ],
    [
      ["KIND", SETUP.HELD],
      ["TARGET", PROGRAMS_PARENT],
    ],
    [
      ["KIND", SETUP.READ_ONLY],
      ["TARGET", PROGRAMS],
    ],
    [
      ["KIND", SETUP.TMPFS],
      ["TARGET", "/tmp"],
      ["SIZE", scratchBytes],
      ["MODE", 0o1777],
    ],
    ...(spec.workspace ? [workspaceStep(spec.workspace)] : []),
    ...template.binds.map(({ from, to }): Step => [
      ["KIND", SETUP.VIEW],
      ["TARGET", to],
      ["PATH", from],
      ["IDS", IDS.NONE],
    ]),
  ];
}

/** The last layer of `/usr` is the host's own. */
function usrLayers({ usrLayers: layers }: Template): readonly string[] {
  return layers.map((path, i) => lower(i === layers.length - 1 ? IDS.HOST : IDS.LAYER, path));
}

function lower(ids: number, path: string): string {
  return `${ids}${path}`;
}

function overlay(target: string, name: string, { layers, owner }: { readonly layers: readonly string[]; readonly owner: number }): Step {
  return [
    ["KIND", SETUP.OVERLAY],
    ["TARGET", target],
    ["NAME", name],
    ["MODE", 0o755],
    ["UID", owner],
    ...layers.map((layer): Field => ["LOWER", layer]),
  ];
}

function workspaceStep({ path, mode }: Workspace): Step {
  if (mode === "copy") return overlay(HOME, "home", { layers: [lower(IDS.WORKSPACE, path)], owner: INNER_USER });
  return [
    ["KIND", SETUP.BIND],
    ["TARGET", HOME],
    ["PATH", path],
    ["IDS", IDS.WORKSPACE],
    ["FLAGS", mode === "rw" ? WRITABLE : 0],
  ];
}
