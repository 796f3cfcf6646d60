import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../src/runtime/guest/guest.ts";
import { findIdMap, type IdMap } from "../../src/runtime/namespace/id-map.ts";
import type { JailPaths } from "../../src/runtime/namespace/jail-spec.ts";
import { openNamespaceRuntime } from "../../src/runtime/namespace/namespace-runtime.ts";
import { runFolder, runName } from "../../src/runtime/namespace/run-paths.ts";
import type { Run, RunningSandbox } from "../../src/runtime/contract/run.ts";
import type { Runtime } from "../../src/runtime/contract/runtime.ts";
import { type ContractSandbox, soon } from "../contract/contract-sandbox.ts";
import { outside } from "../security/support/outside.ts";
import { makeSharingHome } from "./share-base.ts";

export const BINARY = resolve(import.meta.dirname, "../../native/build/belljar-native");
/** Built, as the package has them. */
export const KERNELS = resolve(import.meta.dirname, "../../dist/kernels");
const isRoot = process.getuid?.() === 0;

export type StorageName = "auto" | "btrfs" | "tmpfs" | "home";

/** A home whose runtime is opened with any storage; disposing it leaves nothing. */
export interface Home extends AsyncDisposable {
  readonly path: string;
  /** The sockets lie in the folder `sockets` of the home. With `kernels` its sandboxes have Belljar's own programs. */
  open(storage: StorageName, sockets?: string, kernels?: string, idMap?: IdMap["kind"]): Promise<Runtime>;
  /** As after a reboot. */
  unmount(): Promise<void>;
}

export async function makeHome(): Promise<Home> {
  const path = await mkdtemp(join(tmpdir(), "bj-"));
  makeSharingHome(path);
  const unmount = async (): Promise<void> => {
    if (isRoot) await outside(["umount", "--lazy", join(path, "pool")]);
  };
  const opened: Runtime[] = [];
  return {
    path,
    async open(storage, sockets = "run", kernels?: string, idMap?: IdMap["kind"]) {
      const places = { home: path, runtimeDirectory: join(path, sockets), binary: BINARY };
      const runtime = await openNamespaceRuntime({
        ...places,
        storage,
        ...(kernels !== undefined && { kernels }),
        ...(idMap && { idMap }),
      });
      opened.push(runtime);
      return runtime;
    },
    unmount,
    [Symbol.asyncDispose]: async () => {
      for (const { storagePool } of opened) await storagePool?.[Symbol.asyncDispose]();
      await unmount();
      await rm(path, { recursive: true, force: true });
    },
  };
}

export function startRun({ runtime, spec }: ContractSandbox, generation: number): Promise<RunningSandbox> {
  return runtime.create({ ...spec, generation }, soon());
}

/** What the runtime says to the program that clears this run. */
export function placeOf({ path }: Home, run: Run): JailPaths {
  const { id, generation, folder } = run;
  const sockets = join(path, "run", runName(run));
  const layers = join(folder, "layers");
  return { id, generation, folder: runFolder(run), sockets, layers, slots: "/run/belljar/slots", idMap: findIdMap(), storage: "home" };
}

export function guestIn(running: RunningSandbox): Guest {
  return createGuest((signal) => running.connect(signal), { ended: running.ended });
}
