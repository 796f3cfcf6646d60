import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BelljarError } from "../../src/errors.ts";
import { Journal } from "../../src/sandbox/journal.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { LOCAL, type Sandbox } from "../../src/sandbox/sandbox.ts";
import { byName } from "../support/by-name.ts";
import { type CrashHome, openCrashHome, randomNumbers, readSeed } from "../support/crash-home.ts";
import { guestOf, keeperOf, untilUnlocked } from "../support/home-traces.ts";
import { startWorker } from "../support/home-worker.ts";
import { runFolder } from "../support/run-of.ts";

const STORAGES = process.getuid?.() === 0 ? (["home", "tmpfs", "btrfs"] as const) : (["home", "tmpfs"] as const);
const ROUNDS = 12;
const TIMEOUT_MS = 240_000;
const STEPS = ["starting", "started", "wrote", "stopping", "stopped"] as const;
const VICTIMS = ["starter", "keeper", "first process"] as const;
const config = { sandbox: { timeoutMs: 600_000, memoryBytes: 2 ** 28, pids: 64 }, listMax: 10, tombstoneRetentionMs: 600_000 };
const signal = new AbortController().signal;

/** Kills one of those that have a hand in a run, and the starter last. Gives the files whose writing it was told. */
async function crash(home: CrashHome, id: string, random: () => number): Promise<readonly string[]> {
  const folder = join(home.home, "sandboxes", id);
  const choose = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const [step, victim, turn] = [choose(STEPS), choose(VICTIMS), Math.floor(random() * 2)];
  const worker = startWorker("restart", { ...home, id });
  await worker.says((fact) => fact.step === step && fact.turn === turn);
  if (victim !== "starter") kill(folder, victim);
  await worker.kill();
  return worker.facts.flatMap(({ wrote }) => wrote ?? []);
}

/** Between two runs there is nobody to kill. */
function kill(folder: string, victim: (typeof VICTIMS)[number]): void {
  try {
    const keeper = keeperOf(folder);
    process.kill(victim === "keeper" ? keeper : guestOf(keeper), "SIGKILL");
  } catch (cause) {
    if (cause instanceof BelljarError) throw cause;
  }
}

/** A run whose starter is gone may still be in the making: it ends by itself, as nobody hears of it. */
async function find(sandboxes: LocalSandboxes, home: CrashHome, id: string): Promise<Sandbox> {
  try {
    return await sandboxes.get(LOCAL, id);
  } catch (cause) {
    if (!(cause instanceof BelljarError && cause.code === "RUNTIME_UNAVAILABLE")) throw cause;
    const journal = new Journal(home.home, () => undefined);
    await untilUnlocked(runFolder(journal.folder(id), await journal.lastRun(id)));
    return sandboxes.get(LOCAL, id);
  }
}

/** A stop that the killed starter had asked for may still come: then it is started once more. */
async function readKept(sandboxes: LocalSandboxes, home: CrashHome, id: string, isAgain = false): Promise<readonly string[]> {
  try {
    const sandbox = await (await find(sandboxes, home, id)).start(signal);
    const { stdout } = await sandbox.guest.run({ argv: ["sh", "-c", "grep -H '' file-* /dev/null"], signal });
    return stdout.toString().split("\n");
  } catch (cause) {
    if (isAgain || !(cause instanceof BelljarError && cause.code === "SANDBOX_STOPPED")) throw cause;
    return readKept(sandboxes, home, id, true);
  }
}

describe("a sandbox whose starter, keeper or first process is killed with -9 between a stop and a start", () => {
  for (const storage of STORAGES) {
    it(`runs or can be started, with all files that were acknowledged, with storage in ${storage}`, { timeout: TIMEOUT_MS }, async () => {
      const random = randomNumbers(readSeed());
      await using home = openCrashHome(storage);
      await using sandboxes = createLocalSandboxes({ home: home.home, runtimes: byName(await home.openRuntime()), config });
      const { id } = await sandboxes.create(LOCAL, {}, signal);
      await (await sandboxes.get(LOCAL, id)).stop();
      const written: string[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        written.push(...(await crash(home, id, random)));
        const kept = await readKept(sandboxes, home, id);
        expect(kept).toEqual(expect.arrayContaining(written.map((name) => `${name}:${name}`)));
        await (await find(sandboxes, home, id)).stop();
      }
      expect(written.length).toBeGreaterThan(ROUNDS / 4);
      await (await sandboxes.get(LOCAL, id)).kill();
    });
  }
});
