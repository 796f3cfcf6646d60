import { encodeFields, type Field } from "../../protocol/fields.ts";
import { encodeHead } from "../../protocol/head.ts";
import { OPERATION } from "../../protocol/wire.ts";
import type { Inside, SandboxSpec } from "../runtime.ts";
import { deadlineFields } from "../guest/keeper-client.ts";
import { CGROUP_KIND, type CgroupBase } from "./cgroups.ts";
import { ID_MAP_KIND, type IdMap } from "./id-map.ts";
import type { Template } from "./template/template.ts";
import { INSIDE } from "../../protocol/inside.ts";

/** Numbers of `native/jail/jail.h`. */
export const SETUP = { OVERLAY: 1, BIND: 2, PROC: 3, DEVICES: 4, HELD: 5, READ_ONLY: 6, VIEW: 7, FOLDER: 8, LINK: 9 } as const;
export const IDS = { HOST: 0, LAYER: 1, WORKSPACE: 2, NONE: 3, HELD: 4 } as const;
const STORAGE = { home: 1, tmpfs: 2, btrfs: 3 } as const;
const EPHEMERAL = 1;
const NESTED_FILTERS = 8;
export const HAS_LAYERS = 16;
const REMOVE_LAYERS = 32;
const NO_ROOT = 64;
const CLEAR_FLAGS: Readonly<Record<Keeper, number>> = { unknown: 0, gone: 2, silent: 4 };

/** What is known of the keeper of a folder that is to be cleared: nothing, that it is gone, or that it says nothing and must end. */
export type Keeper = "unknown" | "gone" | "silent";
const WRITABLE = 1;
const RENAMES = 2;

const SLOTS = 32_768;
const MIB = 1024 * 1024;
/** What lies in memory has a size, also where nobody gave the sandbox a limit. */
const SCRATCH_BYTES = 1024 * MIB;

/** Belljar's own programs, and the folder above, which nobody may move away with them. */
const PROGRAMS_PARENT = "/opt";

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

export interface JailRequest {
  readonly place: JailPaths;
  readonly spec: SandboxSpec;
  readonly template: Template;
  readonly cgroups: readonly CgroupBase[];
  /** What the control groups can hold here: of a v2 group that is delegated in part, the jail must not write the rest. */
  readonly groupLimits: readonly (keyof SandboxSpec["limits"])[];
  readonly bootId: string;
  /** The frozen layers that the sandbox lies on, and the subvolume that it begins with. */
  readonly base: JailBase;
  /** Who owns the workspace on the host. */
  readonly workspaceOwner?: { readonly uid: number; readonly gid: number };
}

export interface JailBase {
  /** The folders of the layers, the topmost first, with the names of the overlays that each has files of. */
  readonly below: readonly LayerFiles[];
  readonly seed?: string | undefined;
}

export interface LayerFiles {
  readonly files: string;
  readonly overlays: readonly string[];
  /** The files lie with the writable layers, where their path begins. */
  readonly isHeld?: boolean;
}

function wishFlags({ ephemeral, nestedFilters, root }: SandboxSpec): number {
  return (ephemeral ? EPHEMERAL : 0) | (nestedFilters ? NESTED_FILTERS : 0) | (root === false ? NO_ROOT : 0);
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

function memoryOf({ limits }: SandboxSpec): number {
  return limits.memoryBytes ?? SCRATCH_BYTES;
}

type Step = readonly Field[];

function steps({ spec, template, base }: JailRequest): readonly Step[] {
  return [
    overlay("/", "root", { base, layers: rootLayers(template), owner: INSIDE.rootId }),
    overlay("/usr", "usr", { base, layers: usrLayers(template), owner: INSIDE.rootId }),
    [
      ["KIND", SETUP.DEVICES],
      ["TARGET", "/dev"],
      ["SIZE", Math.floor(memoryOf(spec) / 2)],
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
      ["TARGET", INSIDE.programs],
    ],
    ...workspaceSteps(spec, base),
    ...template.binds.map(({ from, to }): Step => [
      ["KIND", SETUP.VIEW],
      ["TARGET", to],
      ["PATH", from],
      ["IDS", IDS.NONE],
    ]),
  ];
}

export function rootLayers({ rootLayers: layers }: Template): readonly string[] {
  return layers.map((path) => lower(IDS.LAYER, path));
}

export function workspaceLayer(path: string): string {
  return lower(IDS.WORKSPACE, path);
}

/** Those that have files of an overlay. */
export function frozenLayers(below: JailBase["below"], overlayName: string): readonly string[] {
  return below
    .filter(({ overlays }) => overlays.includes(overlayName))
    .map(({ files, isHeld }) => lower(isHeld ? IDS.HELD : IDS.LAYER, `${files}/${overlayName}/upper`));
}

/** The last layer of `/usr` is the host's own. */
export function usrLayers({ usrLayers: layers }: Template): readonly string[] {
  return layers.map((path, i) => lower(i === layers.length - 1 ? IDS.HOST : IDS.LAYER, path));
}

function lower(ids: number, path: string): string {
  return `${ids}${path}`;
}

interface OverlayParts {
  readonly base: JailBase;
  /** Of the template, or the workspace. */
  readonly layers: readonly string[];
  readonly owner: number;
}

function overlay(target: string, name: string, { base, layers, owner }: OverlayParts): Step {
  const own = frozenLayers(base.below, name);
  return [
    ["KIND", SETUP.OVERLAY],
    ["TARGET", target],
    ["NAME", name],
    ["MODE", 0o755],
    ["UID", owner],
    ["FLAGS", own.length > 0 ? RENAMES : undefined],
    ...[...own, ...layers].map((layer): Field => ["LOWER", layer]),
  ];
}

function workspaceSteps({ workspace, inside }: SandboxSpec, base: JailBase): readonly Step[] {
  if (!workspace) return [];
  const { path, mode } = workspace;
  if (mode === "copy")
    return [
      ...places(inside),
      overlay(inside.workspace, layerName(inside), { base, layers: [workspaceLayer(path)], owner: INSIDE.userId }),
    ];
  return [
    ...places(inside),
    [
      ["KIND", SETUP.BIND],
      ["TARGET", inside.workspace],
      ["PATH", path],
      ["IDS", IDS.WORKSPACE],
      ["FLAGS", mode === "rw" ? WRITABLE : 0],
    ],
  ];
}

/** Sandboxes of earlier versions have their workspace as their home. */
export function layerName({ home, workspace }: Pick<Inside, "home" | "workspace">): string {
  return workspace === home ? "home" : "workspace";
}

/** The folder that a workspace is mounted on, and what leads to it: `/workspace`, and the path by which the person names it. */
function places({ workspace, cwd }: Inside): readonly Step[] {
  const folder: Step = [
    ["KIND", SETUP.FOLDER],
    ["TARGET", workspace],
  ];
  const links = [INSIDE.workspace, cwd].filter((at) => at !== workspace);
  return [folder, ...links.map((at) => link(at, workspace))];
}

function link(at: string, to: string): Step {
  return [
    ["KIND", SETUP.LINK],
    ["TARGET", at],
    ["PATH", to],
  ];
}
