import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { findIdMap, type IdMap } from "../../src/runtime/namespace/id-map.ts";
import type { StateStore, UnpackedLayer, UnpackRequest } from "../../src/runtime/contract/state-store.ts";
import { type ContractSandbox, createSandbox, soon } from "../contract/contract-sandbox.ts";
import { type Home, makeHome, type StorageName } from "./namespace-home.ts";
import { piecesOf, type TarEntry, tarArchive } from "./tar-archive.ts";

const USER = "unpack-lab";
const CANONICAL = 1_000_000_000;
const TELL_TREE = join(import.meta.dirname, "../fixtures/tell-tree.mjs");

/** Unpacks archives into frozen layers of a home of its own. Disposing it lets go of the layers, of which nothing may be left. */
export interface UnpackLab extends AsyncDisposable {
  readonly home: Home;
  readonly states: StateStore;
  unpack(tar: Buffer | AsyncIterable<Uint8Array>, options?: Partial<UnpackRequest>, signal?: AbortSignal): Promise<UnpackedLayer>;
  /** Unpacks these entries, and lists what the layer has. */
  tell(...entries: readonly TarEntry[]): Promise<readonly string[]>;
  /** Where the layer's files lie on the host. */
  root(layer: string): string;
  /** On `base`, the topmost layer first. */
  sandbox(...layers: readonly string[]): Promise<ContractSandbox>;
  /** The layers that are there, of whatever state. */
  layers(): readonly string[];
}

export async function openUnpackLab(storage: StorageName = "home", idMap?: IdMap["kind"]): Promise<UnpackLab> {
  const home = await makeHome();
  const runtime = await home.open(storage, "run", undefined, idMap);
  const { states } = runtime.layers;
  if (!states) throw new Error("this runtime freezes nothing");
  const made: string[] = [];
  const lab: UnpackLab = {
    home,
    states,
    async unpack(tar, options = {}, signal = soon()) {
      const chunks = Buffer.isBuffer(tar) ? piecesOf(tar) : tar;
      const unpacked = await states.unpack({ tar: chunks, user: USER, maxBytes: 1e9, maxEntries: 100_000, ...options }, signal);
      made.push(unpacked.layer);
      return unpacked;
    },
    tell: async (...entries) => tellTree(lab.root((await lab.unpack(tarArchive(...entries))).layer)),
    root: (layer) => join(home.path, "layers", layer, "tree/root/upper"),
    sandbox: (...layers) => createSandbox(async () => runtime, { base: { template: "base", layers } }),
    layers: () => namesIn(join(home.path, "layers")),
    async [Symbol.asyncDispose]() {
      await states.letGo(made, USER);
      const left = lab.layers();
      await home[Symbol.asyncDispose]();
      if (left.length > 0) throw new Error(`layers are left: ${left.join(" ")}`);
    },
  };
  return lab;
}

export interface TreeOptions {
  readonly times?: boolean;
  /** Default: true. Ids of another tree are told as they are. */
  readonly isLayer?: boolean;
}

interface Told {
  readonly path: string;
  readonly kind: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeMs: number;
  readonly content: string;
}

/** A line for each entry of a layer: path, kind, mode, ids inside, and what it has. */
export function tellTree(root: string, { times = false, isLayer = true }: TreeOptions = {}): readonly string[] {
  const map = findIdMap();
  const own = map.kind === "subids" && isLayer ? asSubids(map) : [];
  const [program, ...args] = [...own, process.execPath, TELL_TREE, root];
  const first = map.kind === "slot" && isLayer ? CANONICAL : 0;
  return (JSON.parse(execFileSync(program, args, { encoding: "utf8", maxBuffer: 1e9 })) as readonly Told[]).map((entry) => {
    const { path, kind, mode, mtimeMs, content } = entry;
    if (kind === "whiteout") return `${path} whiteout`;
    const ids = map.kind === "single" ? [] : [`${entry.uid - first}:${entry.gid - first}`];
    return [path, kind, ...(kind === "link" ? [] : [mode.toString(8)]), ...ids, ...(times ? [mtimeMs] : []), content].join(" ").trimEnd();
  });
}

/** A command that runs the command after it with the ids of layers: only a user namespace gives them to an ordinary user. */
export function asSubids({ subuid, subgid }: { readonly subuid: number; readonly subgid: number }): readonly string[] {
  const maps = ["--map-user=1000", "--map-group=1000", `--map-users=${subuid},0,65536`, `--map-groups=${subgid},0,65536`];
  return ["unshare", "--user", ...maps, "--setuid", "0", "--setgid", "0", "--"];
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
