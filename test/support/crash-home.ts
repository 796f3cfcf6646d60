import { randomInt } from "node:crypto";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { onTestFailed } from "vitest";
import { openRuntime } from "../../src/runtime/registry.ts";
import type { Runtime } from "../../src/runtime/contract/runtime.ts";
import type { WorkerHome } from "./home-worker.ts";
import { untilUnmounted } from "./pool-traces.ts";
import { makeSharingHome } from "./share-base.ts";

const binary = resolve(import.meta.dirname, "../../native/build/belljar-native");

/** A home whose processes are killed. */
export interface CrashHome extends WorkerHome, AsyncDisposable {
  /** Whatever any of its processes made. */
  readonly ids: Set<string>;
  /** A runtime of this process on the home. It lets go of the storage pool with the home. */
  openRuntime(): Promise<Runtime>;
}

export function openCrashHome(storage: WorkerHome["storage"], folder = tmpdir()): CrashHome {
  const root = realpathSync(mkdtempSync(join(folder, "bj-")));
  const home = join(root, "home");
  makeSharingHome(home);
  const place: WorkerHome = {
    home,
    runtimeDirectory: join(root, "run"),
    storage,
    binary,
    marker: `marker-of-${root.replaceAll("/", "-")}`,
  };
  const opened: Runtime[] = [];
  return {
    ...place,
    ids: new Set(),
    async openRuntime() {
      const runtime = await openRuntime("namespace", place);
      opened.push(runtime);
      return runtime;
    },
    async [Symbol.asyncDispose]() {
      for (const { storagePool } of opened) await storagePool?.[Symbol.asyncDispose]();
      // Nothing lives and nobody serves, so the pool goes by itself.
      if (storage === "btrfs") await untilUnmounted(home);
      rmSync(root, { recursive: true });
    },
  };
}

/** The seed of this test; a failure prints it. */
export function readSeed(): number {
  const seed = Number(process.env["BELLJAR_TEST_SEED"] ?? randomInt(2 ** 31));
  onTestFailed(() => void process.stderr.write(`BELLJAR_TEST_SEED=${seed} repeats the moments\n`));
  return seed;
}

/** A seeded sequence: the seed is in the failure, and repeats the moments. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
