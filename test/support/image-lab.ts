import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LayerFolders } from "../../src/runtime/namespace/states/layer-folders.ts";
import { openNamespaceRuntime } from "../../src/runtime/namespace/namespace-runtime.ts";
import type { IdMap } from "../../src/runtime/namespace/id-map.ts";
import type { Runtime } from "../../src/runtime/contract/runtime.ts";
import { BARE_BASE, type SandboxSpec } from "../../src/runtime/contract/sandbox-spec.ts";
import type { FrozenState, StateStore } from "../../src/runtime/contract/state-store.ts";
import { type ContractSandbox, createSandbox, soon } from "../contract/contract-sandbox.ts";
import { temporaryFolder } from "./image-maker.ts";
import { giveToSandbox } from "./layer-lab.ts";
import { BINARY, KERNELS, makeHome } from "./namespace-home.ts";

const FIXTURES = join(import.meta.dirname, "../fixtures");
const USER = "image";

/** A home with sandboxes that lie on the layers of images, which a test makes by hand. */
export interface ImageLab extends AsyncDisposable {
  readonly path: string;
  readonly runtime: Runtime;
  readonly states: StateStore;
  /** A layer of an image, from what is written into its root. It is there as long as the lab. */
  layer(fill: (root: string) => void): Promise<string>;
  /** On these layers, the topmost first. */
  sandbox(layers: readonly string[], options?: Partial<SandboxSpec>): Promise<ContractSandbox>;
  freeze(sandbox: ContractSandbox, options?: { readonly isOwn: boolean }): Promise<FrozenState>;
}

export interface ImageLabOptions {
  readonly storage?: "home" | "tmpfs" | "btrfs";
  readonly idMap?: IdMap["kind"];
}

export async function openImageLab({ storage = "home", idMap }: ImageLabOptions = {}): Promise<ImageLab> {
  const home = await makeHome();
  const places = { home: home.path, runtimeDirectory: join(home.path, "run"), binary: BINARY, kernels: KERNELS };
  const runtime = await openNamespaceRuntime({ ...places, storage, ...(idMap && { idMap }) });
  const { states } = runtime.layers;
  if (!states) throw new Error("this runtime freezes nothing");
  const folders = new LayerFolders(home.path, join(home.path, "pool"));
  const held = new Set<string>();
  return {
    path: home.path,
    runtime,
    states,
    async layer(fill) {
      const layer = await folders.begin("home", USER);
      const upper = join(folders.files(layer), "root", "upper");
      mkdirSync(upper, { recursive: true });
      fill(upper);
      giveToSandbox(folders.files(layer));
      await folders.finish({ ...layer, overlays: ["root"] });
      held.add(layer.id);
      return layer.id;
    },
    sandbox: (layers, options) => createSandbox(async () => runtime, { base: { ...BARE_BASE, layers }, ...options }),
    async freeze({ spec }, { isOwn } = { isOwn: true }) {
      const frozen = await states.freeze({ run: spec, isRunning: true, durable: false, isOwn, user: USER }, soon());
      for (const layer of frozen.layers) held.add(layer);
      return frozen;
    },
    async [Symbol.asyncDispose]() {
      await states.letGo([...held], USER);
      await runtime.storagePool?.[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

export function put(root: string, path: string, content = "", mode = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content, { mode });
}

export interface LayerFill {
  (root: string): void;
}

/** A layer as `tar` writes it, with all files of the user 1234. */
export async function layerOf(fill: LayerFill): Promise<Buffer> {
  await using folder = await temporaryFolder();
  fill(folder.path);
  return execFileSync("tar", ["--numeric-owner", "--owner=1234", "--group=1234", "-C", folder.path, "-c", "."], { maxBuffer: 2 ** 28 });
}

/** One static program, which says who runs it, and nothing else. */
export function addScratch(root: string, path = "scratch"): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  onHost("cc", "-static", "-O1", "-o", join(root, path), join(FIXTURES, "scratch.c"));
}

const PROGRAMS = ["sh", "cat", "ls", "id", "rm", "mkdir", "touch", "chmod", "mv", "ln", "readlink", "stat", "sleep"];

/** A shell and a few programs of the host with the libraries that they name, in a root that has no `/usr`. */
export function addShell(root: string): void {
  for (const name of PROGRAMS) addProgram(root, name);
}

/** A program of the host with its libraries, as one of the image. */
export function addProgram(root: string, name: string): void {
  const path = onHost("which", name).trim();
  const libraries = onHost("ldd", path).matchAll(/\s(\/[^\s(]+) \(0x/g);
  copyInto(root, path, `/bin/${name}`);
  for (const [, library = ""] of libraries) copyInto(root, library, library);
}

function copyInto(root: string, from: string, to: string): void {
  if (existsSync(join(root, to))) return;
  mkdirSync(dirname(join(root, to)), { recursive: true });
  copyFileSync(from, join(root, to));
}

/** What hides a name of the layers below. */
export function whiteout(root: string, path: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  onHost("mknod", "-m", "0", join(root, path), "c", "0", "0");
}

function onHost(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: "utf8" });
}
