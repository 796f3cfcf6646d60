import { existsSync } from "node:fs";
import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { BelljarError } from "../../src/errors.ts";
import type { Runtime } from "../../src/runtime/contract/runtime.ts";
import type { LocalSandboxes, LocalSandboxesOptions } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { byName } from "./by-name.ts";
import { type CrashHome, openCrashHome } from "./crash-home.ts";
import { untilUnlocked } from "./home-traces.ts";
import type { WorkerHome } from "./home-worker.ts";

const signal = new AbortController().signal;
export const STATE_CONFIG = {
  sandbox: { timeoutMs: 600_000, memoryBytes: 2 ** 28, pids: 64 },
  listMax: 100,
  tombstoneRetentionMs: 600_000,
};
export const STATE_STORAGES = process.getuid?.() === 0 ? (["home", "tmpfs", "btrfs"] as const) : (["home", "tmpfs"] as const);

/** A home with real sandboxes, whose states are kept. */
export interface StateHome extends AsyncDisposable {
  readonly crash: CrashHome;
  readonly runtime: Runtime;
  readonly sandboxes: LocalSandboxes;
  /** What the home has reported. */
  readonly problems: string[];
  /** One more process on the home. */
  open(more?: Partial<LocalSandboxesOptions>): Promise<LocalSandboxes>;
  /** Sweeps as if all that was frozen had been frozen long ago. */
  sweepOld(): Promise<void>;
  /** The frozen layers that are left in the home. */
  layers(): Promise<readonly string[]>;
  /** Those of them that are left in its pool. */
  subvolumes(): Promise<readonly string[]>;
}

/** Disposing it kills what lives. */
export async function openStateHome(
  storage: WorkerHome["storage"] = "home",
  more: Partial<LocalSandboxesOptions> | ((home: string) => Partial<LocalSandboxesOptions>) = {},
  folder?: string,
): Promise<StateHome> {
  const crash = openCrashHome(storage, folder);
  const problems: string[] = [];
  const report = (problem: string): void => void problems.push(problem);
  const given = typeof more === "function" ? more(crash.home) : more;
  const runtime = await crash.openRuntime();
  const first = { home: crash.home, runtimes: byName(runtime), config: STATE_CONFIG, report, ...given };
  const sandboxes = createLocalSandboxes(first);
  const opened = [sandboxes];
  return {
    crash,
    runtime,
    sandboxes,
    problems,
    open: async (other) => {
      const one = createLocalSandboxes({ ...first, runtimes: byName(await crash.openRuntime()), ...other });
      opened.push(one);
      return one;
    },
    sweepOld: async () => {
      for (const id of await namesIn(join(crash.home, "layers")))
        for (const path of ["users", ""]) await utimes(join(crash.home, "layers", id, path), 0, 0).catch(() => undefined);
      await sandboxes.sweep();
    },
    layers: () => namesIn(join(crash.home, "layers")),
    subvolumes: () => namesIn(join(crash.home, "pool", "layers")),
    async [Symbol.asyncDispose]() {
      for (const id of await namesIn(join(crash.home, "sandboxes"))) await killAnyones(sandboxes, id);
      for (const id of await namesIn(join(crash.home, "layers")))
        for (const user of await namesIn(join(crash.home, "layers", id, "users"))) await runtime.layers.states?.letGo([id], user);
      for (const one of opened) await one[Symbol.asyncDispose]();
      await untilFlushed(crash.home);
      await crash[Symbol.asyncDispose]();
    },
  };
}

/** Flushes in the background hold the folder of all layers locked. */
export async function untilFlushed(home: string): Promise<void> {
  const layers = join(home, "layers");
  if (existsSync(layers)) await untilUnlocked(layers);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

async function killAnyones(sandboxes: LocalSandboxes, id: string): Promise<void> {
  try {
    await (await sandboxes.getLinked(id)).kill();
  } catch (cause) {
    const isGone = cause instanceof BelljarError && (cause.code === "SANDBOX_ENDED" || cause.code === "SANDBOX_NOT_FOUND");
    if (!isGone) throw cause;
  }
}

/** What a shell command prints inside, without the last line break. */
export async function shell(sandbox: Sandbox, command: string): Promise<string> {
  const { stdout } = await sandbox.guest.run({ argv: ["sh", "-c", command], signal });
  return stdout.toString().trimEnd();
}
