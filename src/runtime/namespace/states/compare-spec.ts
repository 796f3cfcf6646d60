import { encodeFields, type Field } from "../../../protocol/fields.ts";
import { encodeHead } from "../../../protocol/head.ts";
import { INSIDE } from "../../../protocol/inside.ts";
import { OPERATION } from "../../../protocol/wire.ts";
import type { Inside } from "../../contract/run.ts";
import type { StateView } from "../../contract/state-store.ts";
import { HAS_LAYERS, type JailPaths, placeFields } from "../jail-spec.ts";
import { frozenLayers, type JailBase, layerName, rootLayers, SETUP, usrLayers, workspaceLayer } from "../jail-steps.ts";
import type { Template } from "../template/template.ts";

/** A state as `compare` reads it: where its sandbox lies, and the layers of each overlay. */
export interface ComparedState {
  readonly place: JailPaths;
  /** What the sandbox has written since lies on top. */
  readonly isPresent: boolean;
  readonly overlays: readonly ComparedOverlay[];
  /** Where something else is mounted inside, which belongs to no state. */
  readonly mounts: readonly string[];
}

export interface ComparedOverlay {
  readonly target: string;
  /** Of its writable layer. */
  readonly name: string;
  /** The topmost first. Each begins with a digit that says whose ids its files have. */
  readonly layers: readonly string[];
}

export interface StateParts extends Pick<ComparedState, "place" | "isPresent"> {
  readonly template: Template;
  /** The frozen layers of the state, the topmost first. */
  readonly below: JailBase["below"];
}

type ComparedPlaces = Pick<StateView["sandbox"], "workspace" | "mounts"> & { readonly inside: Pick<Inside, "home" | "workspace"> };

/** The stacks of a state, as the jail mounts them. */
export function comparedState({ workspace, mounts = [], inside }: ComparedPlaces, parts: StateParts): ComparedState {
  const { template, below, ...state } = parts;
  const overlay = (target: string, name: string, lower: readonly string[]): ComparedOverlay => ({
    target,
    name,
    layers: [...frozenLayers(below, name), ...lower],
  });
  const usr = usrLayers(template);
  const isCopied = workspace?.mode === "copy";
  return {
    ...state,
    overlays: [
      overlay("/", "root", rootLayers(template)),
      ...(usr.length > 0 ? [overlay("/usr", "usr", usr)] : []),
      ...(isCopied ? [overlay(inside.workspace, layerName(inside), [workspaceLayer(workspace.path)])] : []),
    ],
    mounts: [
      "/dev",
      "/proc",
      ...(template.programs === undefined ? [] : [INSIDE.programs]),
      ...template.binds.map(({ to }) => to),
      ...(workspace && !isCopied ? [inside.workspace] : []),
      ...mounts.map(({ at }) => at),
    ],
  };
}

export function encodeComparison(before: ComparedState, after: ComparedState): Buffer {
  return encodeHead(OPERATION.COMPARE, [
    ["BEFORE", encodeState(before)],
    ["AFTER", encodeState(after)],
  ]);
}

export function encodeReading(state: ComparedState, path: Buffer, limit: number): Buffer {
  return encodeHead(OPERATION.COMPARE, [
    ["BEFORE", encodeState(state)],
    ["PATH", path],
    ["LIMIT", limit],
  ]);
}

function encodeState({ place, isPresent, overlays, mounts }: ComparedState): Buffer {
  return encodeFields([
    ...placeFields(place),
    ["FLAGS", isPresent ? HAS_LAYERS : 0],
    ...overlays.map((overlay): Field => ["SETUP", encodeOverlay(overlay)]),
    ...mounts.map((target): Field => [
      "SETUP",
      encodeFields([
        ["KIND", SETUP.HELD],
        ["TARGET", target],
      ]),
    ]),
  ]);
}

function encodeOverlay({ target, name, layers }: ComparedOverlay): Buffer {
  return encodeFields([["KIND", SETUP.OVERLAY], ["TARGET", target], ["NAME", name], ...layers.map((layer): Field => ["LOWER", layer])]);
}
