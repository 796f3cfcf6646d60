import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { randomNumbers, readSeed } from "../../support/crash-home.ts";
import { FaultModel } from "../../support/faults/fault-model.ts";
import { type Done, type FaultWorker, type Outcome, startFaultWorker } from "../../support/faults/fault-worker.ts";
import { LATEST_MS, type Operation } from "../../support/faults/operation.ts";
import { findRemains, findTraces, keeperOf, NO_TRACES, untilUnlocked } from "../../support/home-traces.ts";
import { runFolder } from "../../support/run-of.ts";
import { openStateHome, STATE_STORAGES, type StateHome, untilFlushed } from "../../support/state-home.ts";

/** Of each storage. `npm run faults` makes 1,000 in all. */
const KILLS = Number(process.env["BELLJAR_TEST_KILLS"] ?? 15);
const KILL_MS = 4_000;
const VICTIMS = ["worker", "worker", "keeper", "both"] as const;
const DETAILS = process.env["BELLJAR_TEST_DETAILS"] !== undefined;

interface Fault {
  readonly operation: Operation;
  readonly outcome: Outcome;
  /** The sandbox whose keeper was killed. */
  readonly keeper: string | undefined;
}

/** Whoever holds the sandbox's run: its keeper, or a job on its layers. There is none of a stopped one. */
function killKeeper(home: StateHome, id: string): string | undefined {
  try {
    process.kill(keeperOf(join(home.crash.home, "sandboxes", id)), "SIGKILL");
    return id;
  } catch {
    return undefined;
  }
}

/** Lets a process begin an operation, and kills one of those that have a hand in it some moments later, and the process at last. */
async function strike(home: StateHome, worker: FaultWorker, operation: Operation, random: () => number): Promise<Fault> {
  const victim = VICTIMS[Math.floor(random() * VICTIMS.length)];
  const afterMs = random() * LATEST_MS[operation.kind];
  const target = FaultModel.target(operation);
  const asked = worker.ask(operation);
  await asked.begun;
  await wait(afterMs);
  const keeper = victim === "worker" || target === undefined ? undefined : killKeeper(home, target);
  if (victim !== "keeper") await worker.kill();
  const outcome = await asked.outcome;
  if (victim === "keeper") await worker.kill();
  return { operation, outcome, keeper };
}

async function look(worker: FaultWorker, model: FaultModel, start: readonly string[]): Promise<void> {
  const outcome = await worker.ask({ kind: "look", start }).outcome;
  if (outcome === "unknown" || !("done" in outcome)) throw new Error(`A new process cannot look at the home: ${JSON.stringify(outcome)}`);
  const { sandboxes = [], snapshots = [] } = outcome.done;
  model.check({ sandboxes, snapshots });
  expect(worker.problems).toEqual([]);
}

async function done(worker: FaultWorker, operation: Operation): Promise<Done> {
  const outcome = await worker.ask(operation).outcome;
  if (outcome === "unknown" || !("done" in outcome)) throw new Error(`${JSON.stringify(operation)}: ${JSON.stringify(outcome)}`);
  return outcome.done;
}

/** Each checkpoint is rolled back to, and each snapshot forked: they have the files of their moment. */
async function readAll(worker: FaultWorker, model: FaultModel): Promise<void> {
  const operations: Operation[] = [
    ...[...model.sandboxes].flatMap(([id, { points }]) => [...points.keys()].map((point): Operation => ({ kind: "rollback", id, point }))),
    ...[...model.snapshots.keys()].map((snapshot): Operation => ({ kind: "fork", from: { snapshot }, count: 1 })),
  ];
  for (const operation of operations) {
    model.settle(operation, { done: await done(worker, operation) }, undefined);
    await look(worker, model, []);
  }
}

/** All is removed in the common way. Then nothing is left of any process. */
async function clearAll(home: StateHome, model: FaultModel): Promise<void> {
  const worker = startFaultWorker(home.crash);
  await look(worker, model, []);
  await readAll(worker, model);
  for (const id of model.sandboxes.keys()) await done(worker, { kind: "kill", id });
  for (const snapshot of model.snapshots.keys()) await done(worker, { kind: "removeSnapshot", snapshot });
  await worker.kill();
  // Those whose makers were killed let go of their layers in the first sweep, and these are too young for it.
  for (let sweep = 0; sweep < 3; sweep += 1) await home.sweepOld();
  for (const id of model.ids) await untilUnlocked(runFolder(join(home.crash.home, "sandboxes", id))).catch(() => undefined);
  await untilFlushed(home.crash.home);
  expect([await home.layers(), await home.subvolumes(), home.problems]).toEqual([[], [], []]);
}

describe("a process or a keeper that is killed with -9 in the middle of an operation", () => {
  for (const storage of STATE_STORAGES) {
    it(
      `loses nothing that was acknowledged, and leaks nothing, with storage in ${storage}`,
      { timeout: KILLS * KILL_MS + 60_000 },
      async () => {
        const random = randomNumbers(readSeed());
        await using home = await openStateHome(storage);
        const model = new FaultModel();
        let fault: Fault | undefined;
        for (let kill = 0; kill < KILLS; kill += 1) {
          const worker = startFaultWorker(home.crash);
          try {
            await look(worker, model, [...model.unsure, ...[...model.sandboxes.keys()].filter(() => random() < 0.5)]);
            const operation = model.choose(random);
            fault = await strike(home, worker, operation, random);
            if (DETAILS) process.stderr.write(`${kill} ${JSON.stringify(fault)}\n`);
            model.settle(operation, fault.outcome, fault.keeper);
          } catch (cause) {
            if (DETAILS) process.stderr.write(`${String(cause)}\n`);
            throw new Error(`Kill ${kill}, after ${JSON.stringify(fault)}: ${String(cause)}`, { cause });
          } finally {
            await worker.kill();
          }
        }
        await clearAll(home, model);
        expect(findTraces({ ...home.crash, ids: model.ids })).toEqual(NO_TRACES);
        // The folder of frozen layers is the pool's own, and empty, as the layers of the home are.
        expect(findRemains(home.crash.home).filter((path) => path !== "pool/layers")).toEqual([]);
      },
    );
  }
});
