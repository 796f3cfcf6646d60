import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { BelljarError } from "../../../src/errors.ts";
import { Journal } from "../../../src/sandbox/journal.ts";
import { LIVE_STATES, LOCAL, type Sandbox } from "../../../src/sandbox/sandbox.ts";
import { randomNumbers, readSeed } from "../../support/crash-home.ts";
import { untilUnlocked } from "../../support/home-traces.ts";
import { runFolder } from "../../support/run-of.ts";
import { openStateHome, shell, type StateHome, STATE_STORAGES } from "../../support/state-home.ts";

const WORKER = join(import.meta.dirname, "../../fixtures/state-worker.mjs");
const STEPS = ["checkpoint", "snapshot", "fork", "rollback"] as const;
const ROUNDS = 10;
const LATEST_MS = 60;
const TIMEOUT_MS = 240_000;
const signal = new AbortController().signal;

interface Fact {
  readonly step?: (typeof STEPS)[number];
  readonly turn?: number;
  readonly point?: string;
  readonly snapshot?: string;
  readonly wrote?: string;
  readonly problem?: string;
}

/** Kills a worker with -9 some moments after it began a step. Gives what it was told was done. */
async function crash(home: StateHome, id: string, random: () => number): Promise<readonly Fact[]> {
  const [step, turn, afterMs] = [STEPS[Math.floor(random() * STEPS.length)], Math.floor(random() * 2), random() * LATEST_MS];
  const child = spawn(process.execPath, [WORKER, JSON.stringify({ ...home.crash, id })], { stdio: ["ignore", "pipe", "inherit"] });
  const facts: Fact[] = [];
  const closed = once(child, "close");
  for await (const line of createInterface({ input: child.stdout })) {
    const fact = parseFact(line);
    if (fact) facts.push(fact);
    if (fact?.step !== step || fact?.turn !== turn) continue;
    await wait(afterMs);
    child.kill("SIGKILL");
  }
  await closed;
  return facts;
}

/** A killed process may have been cut short in the middle of a line. */
function parseFact(line: string): Fact | undefined {
  try {
    return JSON.parse(line) as Fact;
  } catch {
    return undefined;
  }
}

/** A run whose starter is gone may still be in the making: it ends by itself, as nobody hears of it. */
async function started(home: StateHome, id: string): Promise<Sandbox> {
  try {
    return await (await home.sandboxes.get(LOCAL, id)).start(signal);
  } catch (cause) {
    if (!(cause instanceof BelljarError && cause.code === "RUNTIME_UNAVAILABLE")) throw cause;
    const journal = new Journal(home.crash.home, () => undefined);
    await untilUnlocked(runFolder(journal.folder(id), await journal.lastRun(id)));
    return (await home.sandboxes.get(LOCAL, id)).start(signal);
  }
}

describe("a process that is killed with -9 while it freezes, forks and rolls back", () => {
  for (const storage of STATE_STORAGES) {
    it(
      `loses nothing that was acknowledged, leaks nothing and blocks nobody, with storage in ${storage}`,
      { timeout: TIMEOUT_MS },
      async () => {
        const random = randomNumbers(readSeed());
        await using home = await openStateHome(storage);
        const { id } = await home.sandboxes.create(LOCAL, {}, signal);
        const [points, snapshots] = [new Map<string, string>(), new Map<string, string>()];
        for (let round = 0; round < ROUNDS; round += 1) {
          for (const { point, snapshot, wrote = "", problem } of await crash(home, id, random)) {
            expect(problem).toBeUndefined();
            if (point !== undefined) points.set(point, wrote);
            if (snapshot !== undefined) snapshots.set(snapshot, wrote);
          }
          const sandbox = await started(home, id);
          const known = (await sandbox.timeLine.list()).checkpoints.map((one) => one.id);
          expect(known).toEqual(expect.arrayContaining([...points.keys()]));
          expect((await home.sandboxes.snapshots.list(LOCAL)).map((one) => one.id)).toEqual(expect.arrayContaining([...snapshots.keys()]));
          const [point] = [...points].slice(-1);
          if (!point) continue;
          const back = await sandbox.timeLine.rollback(point[0], signal);
          expect(await shell(back.sandbox, "cat notes")).toBe(point[1]);
          if (round % 3 === 0) await back.sandbox.stop();
        }
        for (const [snapshot, wrote] of [...snapshots].slice(-3)) {
          const [fork] = await home.sandboxes.snapshots.fork(LOCAL, { snapshot }, {}, signal);
          expect(await shell(fork!, "cat notes")).toBe(wrote);
          await fork!.kill();
        }
        expect(points.size + snapshots.size).toBeGreaterThan(ROUNDS / 3);
        // Forks that a killed process had made live until their deadline.
        for (const { id: left } of (await home.sandboxes.list(LOCAL, { filter: { state: LIVE_STATES } })).sandboxes)
          await (await home.sandboxes.get(LOCAL, left)).kill();
        for (const { id: snapshot } of await home.sandboxes.snapshots.list(LOCAL)) await home.sandboxes.snapshots.remove(LOCAL, snapshot);
        // What dead processes have left goes with sweeps. One that lets go for a dead sandbox makes its layers young again.
        for (let sweep = 0; sweep < 3; sweep += 1) await home.sweepOld();
        expect([await home.layers(), home.problems]).toEqual([[], []]);
      },
    );
  }
});
