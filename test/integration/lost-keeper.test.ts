import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { openRuntime } from "../../src/runtime/registry.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { CreateOptions, Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { findRemains, findTraces, guestOf, keeperOf, NO_TRACES, untilGone, untilThere, untilUnlocked } from "../support/home-traces.ts";
import type { WorkerHome } from "../support/home-worker.ts";
import { startWorker } from "../support/home-worker.ts";
import { byName } from "../support/by-name.ts";
import { runFolder, runName, runOf } from "../support/run-of.ts";

const binary = resolve(import.meta.dirname, "../../native/build/belljar-native");
const config = { sandbox: { timeoutMs: 600_000, memoryBytes: 2 ** 28, pids: 64 }, listMax: 100, tombstoneRetentionMs: 600_000 };
const signal = new AbortController().signal;
const isRoot = process.getuid?.() === 0;

interface OpenHome extends WorkerHome, AsyncDisposable {
  readonly sandboxes: LocalSandboxes;
  /** A sandbox in which a marked process runs. */
  busy(options?: CreateOptions): Promise<Sandbox>;
  folder(id: string): string;
  /** What is left of these once their keepers are gone and the home has cleared what it knows of. */
  traces(...ids: readonly string[]): Promise<unknown>;
}

async function openHome(): Promise<OpenHome> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "bj-")));
  const place = { home: join(root, "home"), runtimeDirectory: join(root, "run"), storage: "home", binary } as const;
  const home = { ...place, marker: `marker-of-${root.replaceAll("/", "-")}` };
  const sandboxes = createLocalSandboxes({ home: home.home, runtimes: byName(await openRuntime("namespace", place)), config });
  return {
    ...home,
    sandboxes,
    folder: (id) => join(home.home, "sandboxes", id),
    async busy(options = {}) {
      const sandbox = await sandboxes.create(LOCAL, options, signal);
      await sandbox.guest.run({ argv: ["sh", "-c", "sh -c 'sleep 600; :' \"$0\" >/dev/null & :", home.marker], signal });
      return sandbox;
    },
    async traces(...ids) {
      await untilGone(
        home.runtimeDirectory,
        ids.map((id) => runName(id)),
      );
      for (const id of ids) await untilUnlocked(runFolder(join(home.home, "sandboxes", id)));
      await sandboxes.sweep();
      for (const id of ids) await untilThere(join(home.home, "sandboxes", id), "tombstone.json"); // this process may be at it already
      return findTraces({ ...home, ids });
    },
    async [Symbol.asyncDispose]() {
      await sandboxes.sweep();
      await sandboxes[Symbol.asyncDispose]();
      rmSync(root, { recursive: true });
    },
  };
}

describe("a sandbox", () => {
  it("ends with its keeper, and its home clears what the keeper left", async () => {
    await using home = await openHome();
    const { id, guest } = await home.busy();
    await using command = await guest.exec({ argv: ["sleep", "600"], stdin: false, signal });
    process.kill(keeperOf(home.folder(id)), "SIGKILL");
    await expect(command.exited).rejects.toMatchObject({ code: "SANDBOX_ENDED", message: expect.stringContaining("keeper_lost") });
    expect(await home.traces(id)).toEqual(NO_TRACES);
    expect(await home.sandboxes.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "keeper_lost" });
  });

  it.skipIf(!isRoot)("is cleared though it was paused when its keeper was killed (skipped without root, who alone can pause)", async () => {
    await using home = await openHome();
    const { id } = await home.busy();
    const runtime = await openRuntime("namespace", home);
    await using running = await runtime.open(runOf(id, home.folder(id)));
    await running?.pause();
    process.kill(keeperOf(home.folder(id)), "SIGKILL");
    await running?.ended;
    expect(await home.traces(id)).toEqual(NO_TRACES);
  });

  it("ends with its guest, which somebody killed from outside", async () => {
    await using home = await openHome();
    const { id, guest } = await home.busy();
    await using command = await guest.exec({ argv: ["sleep", "600"], stdin: false, signal });
    process.kill(guestOf(keeperOf(home.folder(id))), "SIGKILL");
    await expect(command.exited).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
    expect(await home.traces(id)).toEqual(NO_TRACES);
    expect(await home.sandboxes.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "killed" });
  });

  it("is ended by its keeper at its deadline, though nobody of the host lives", async () => {
    await using home = await openHome();
    const worker = startWorker("brief", home);
    const { made: id = "" } = await worker.says(({ made }) => made !== undefined);
    await worker.kill();
    await untilThere(runFolder(home.folder(id)), "end.json");
    expect(await home.traces(id)).toEqual(NO_TRACES);
    expect(await home.sandboxes.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "deadline" });
  });

  it("ends though its killer is killed in the middle", async () => {
    await using home = await openHome();
    const { id } = await home.busy();
    const killer = startWorker("settle", home);
    await killer.says(({ ending }) => ending === id);
    await killer.kill();
    await (await home.sandboxes.get(LOCAL, id).catch(() => undefined))?.kill();
    expect(await home.traces(id)).toEqual(NO_TRACES);
    await home.sandboxes.sweep();
    expect(await home.sandboxes.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "killed" });
    expect(findRemains(home.home)).toEqual([]);
  });
});
