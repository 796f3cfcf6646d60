import { chmodSync, lchownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StateChange } from "../../src/runtime/contract/state-store.ts";
import { findIdMap } from "../../src/runtime/namespace/id-map.ts";
import type { JailPaths } from "../../src/runtime/namespace/jail-spec.ts";
import type { ComparedState } from "../../src/runtime/namespace/states/compare-spec.ts";
import { encodeComparison, encodeReading } from "../../src/runtime/namespace/states/compare-spec.ts";
import { compareStates, readState } from "../../src/runtime/namespace/states/compare.ts";
import { BINARY } from "./namespace-home.ts";

const isRoot = process.getuid?.() === 0;
const CANONICAL = 1_000_000_000;

/** Layers that a test makes by hand, and their comparison by the native binary. */
export interface LayerLab extends Disposable {
  readonly folder: string;
  /** A new layer: its folder for `/`. */
  layer(name: string): string;
  /** Layers by their names, the topmost first. `present`: that one is what the sandbox has written since. */
  state(layers: readonly string[], present?: string): ComparedState;
  compare(before: ComparedState, after: ComparedState, signal?: AbortSignal): Promise<readonly StateChange[]>;
  /** A line for each change, sorted. */
  tell(before: ComparedState, after: ComparedState): Promise<readonly string[]>;
  read(state: ComparedState, path: string | Buffer, maxBytes?: number): Promise<Buffer>;
}

export function openLayerLab(): LayerLab {
  const folder = mkdtempSync(join(tmpdir(), "belljar-layers-"));
  const upper = (name: string): string => join(folder, name, "root", "upper");
  const signal = (): AbortSignal => AbortSignal.timeout(60_000);
  const lab: LayerLab = {
    folder,
    layer(name) {
      mkdirSync(upper(name), { recursive: true });
      return upper(name);
    },
    state: (layers, present) => ({
      place: placeOf(folder, present ?? "none"),
      isPresent: present !== undefined,
      overlays: [{ target: "/", name: "root", layers: layers.map((name) => `1${upper(name)}`) }],
      mounts: ["/dev"],
    }),
    async compare(before, after, given = signal()) {
      const changes: StateChange[] = [];
      for await (const change of compareStates(BINARY, encodeComparison(before, after), given)) changes.push(change);
      return changes;
    },
    async tell(before, after) {
      return (await lab.compare(before, after)).map(tellChange).toSorted();
    },
    async read(state, path, maxBytes = 1_000_000) {
      const bytes = Buffer.from(path as Buffer);
      const pieces: Buffer[] = [];
      for await (const piece of readState(BINARY, encodeReading(state, bytes, maxBytes), { path: bytes, maxBytes, signal: signal() }))
        pieces.push(piece);
      return Buffer.concat(pieces);
    },
    [Symbol.dispose]() {
      openFolders(folder);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return lab;
}

/** A layer may hold a folder that its owner cannot search. Nobody but root removes what is in one. */
function openFolders(folder: string): void {
  chmodSync(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) if (entry.isDirectory()) openFolders(join(folder, entry.name));
}

/** On disk, root's layers belong to ids that nothing runs as. */
export function giveToSandbox(path: string, id = 0): void {
  if (!isRoot) return;
  const own = (at: string): void => {
    lchownSync(at, CANONICAL + id, CANONICAL + id);
    if (lstatSync(at).isDirectory()) for (const name of readdirSync(at)) own(join(at, name));
  };
  own(path);
}

export function tellChange({ path, before, after, isUnseen }: StateChange): string {
  const kind = before ? (after ? "changed" : "removed") : "added";
  const type = before && after && before.type !== after.type ? `${before.type}->${after.type}` : (after ?? before)?.type;
  return `${kind} ${type} ${path.toString("latin1")}${isUnseen ? " unseen" : ""}`;
}

function placeOf(folder: string, layers: string): JailPaths {
  const at = (name: string): string => join(folder, name);
  return {
    id: "abcdefghijklmnopqrst",
    generation: 1,
    folder: at("run"),
    sockets: at("sockets"),
    layers: at(layers),
    slots: at("slots"),
    idMap: findIdMap(),
    storage: "home",
  };
}
