import type { Field } from "../../protocol/fields.ts";
import { INSIDE } from "../../protocol/inside.ts";
import type { Inside } from "../contract/run.ts";
import type { Mount, SandboxSpec } from "../contract/sandbox-spec.ts";
import { treeOf } from "./shared-folders.ts";
import type { Template } from "./template/template.ts";

/** Numbers of `native/jail/jail.h`. */
export const SETUP = { OVERLAY: 1, BIND: 2, PROC: 3, DEVICES: 4, HELD: 5, READ_ONLY: 6, VIEW: 7, FOLDER: 8, LINK: 9 } as const;
export const IDS = { HOST: 0, LAYER: 1, WORKSPACE: 2, NONE: 3, HELD: 4 } as const;
const WRITABLE = 1;
const RENAMES = 2;

const MIB = 1024 * 1024;
/** What lies in memory has a size, also where nobody gave the sandbox a limit. */
const SCRATCH_BYTES = 1024 * MIB;

/** Belljar's own programs, and the folder above, which nobody may move away with them. */
const PROGRAMS_PARENT = "/opt";

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

export interface StepsRequest {
  readonly spec: SandboxSpec;
  readonly template: Template;
  /** The frozen layers that the sandbox lies on, and the subvolume that it begins with. */
  readonly base: JailBase;
}

type Step = readonly Field[];

/** What the jail does to make the file system of a sandbox, in this order. */
export function setupSteps({ spec, template, base }: StepsRequest): readonly Step[] {
  const usr = usrLayers(template);
  return [
    overlay("/", "root", { base, layers: rootLayers(template), owner: INSIDE.rootId }),
    ...(usr.length > 0 ? [overlay("/usr", "usr", { base, layers: usr, owner: INSIDE.rootId })] : []),
    ...(template.programs === undefined ? [] : ["/dev", "/proc", INSIDE.programs].map((at) => folder(at))),
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
    programs(template),
    ...workspaceSteps(spec, base),
    ...(spec.mounts ?? []).flatMap(mountSteps),
    ...template.binds.map(({ from, to }): Step => view(to, from, IDS.NONE)),
  ];
}

/** Where nobody inside can change them. */
function programs({ programs: layer }: Template): Step {
  if (layer !== undefined) return view(INSIDE.programs, layer, IDS.LAYER);
  return [
    ["KIND", SETUP.READ_ONLY],
    ["TARGET", INSIDE.programs],
  ];
}

function view(at: string, from: string, ids: number): Step {
  return [
    ["KIND", SETUP.VIEW],
    ["TARGET", at],
    ["PATH", from],
    ["IDS", ids],
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

/** The ids on the host are those of layers: every sandbox finds those that another one wrote. */
function mountSteps({ folder: shared, at }: Mount): readonly Step[] {
  return [
    folder(at),
    [
      ["KIND", SETUP.BIND],
      ["TARGET", at],
      ["PATH", treeOf(shared)],
      ["IDS", IDS.LAYER],
      ["FLAGS", WRITABLE],
    ],
  ];
}

/** Sandboxes of earlier versions have their workspace as their home. */
export function layerName({ home, workspace }: Pick<Inside, "home" | "workspace">): string {
  return workspace === home ? "home" : "workspace";
}

/** The folder that a workspace is mounted on, and what leads to it: `/workspace`, and the path by which the person names it. */
function places({ workspace, cwd }: Inside): readonly Step[] {
  const links = [INSIDE.workspace, cwd].filter((at) => at !== workspace);
  return [folder(workspace), ...links.map((at) => link(at, workspace))];
}

function folder(at: string): Step {
  return [
    ["KIND", SETUP.FOLDER],
    ["TARGET", at],
  ];
}

function link(at: string, to: string): Step {
  return [
    ["KIND", SETUP.LINK],
    ["TARGET", at],
    ["PATH", to],
  ];
}

/** What a sandbox may hold in memory. */
export function memoryOf({ limits }: SandboxSpec): number {
  return limits.memoryBytes ?? SCRATCH_BYTES;
}
