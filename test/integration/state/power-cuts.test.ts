import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { randomNumbers, readSeed } from "../../support/crash-home.ts";
import { type CutDisk, openCutDisk } from "../../support/faults/cut-disk.ts";
import { FaultModel } from "../../support/faults/fault-model.ts";
import { type Done, type FaultWorker, type Outcome, type Seen, startFaultWorker } from "../../support/faults/fault-worker.ts";
import { type Content, LATEST_MS, type Operation } from "../../support/faults/operation.ts";
import type { WorkerHome } from "../../support/home-worker.ts";
import { untilUnmounted } from "../../support/pool-traces.ts";
import { STATE_STORAGES, untilFlushed } from "../../support/state-home.ts";

/** Of each storage. `npm run faults` makes more. */
const CUTS = Number(process.env["BELLJAR_TEST_CUTS"] ?? 4);
/** The disk of the machine sees each as much work as between two cuts of a person's. */
const OPERATIONS_PER_CUT = 6;
const CUT_MS = 30_000;
const FILLING = "-".repeat(50_000);

/** What was acknowledged before a cut. */
interface Cut {
  readonly copy: string;
  readonly during: Operation;
  readonly stopped: ReadonlyMap<string, Content>;
  readonly snapshots: ReadonlyMap<string, Content>;
}

type Home = Omit<WorkerHome, "runtimeDirectory"> & { readonly disk: CutDisk };

async function ask(worker: FaultWorker, request: Parameters<FaultWorker["ask"]>[0]): Promise<Done> {
  const outcome = await worker.ask(request).outcome;
  if (outcome === "unknown" || !("done" in outcome)) throw new Error(`${JSON.stringify(request)}: ${JSON.stringify(outcome)}`);
  return outcome.done;
}

async function lookAt(worker: FaultWorker, start: readonly string[] = []): Promise<Seen> {
  const { sandboxes = [], snapshots = [] } = await ask(worker, { kind: "look", start });
  return { sandboxes, snapshots };
}

/** What a cut in the middle of the operation must leave: sandboxes that it does not touch, and snapshots that it does not remove. */
function promised(model: FaultModel, during: Operation): Pick<Cut, "stopped" | "snapshots"> {
  const touched = FaultModel.target(during);
  const isStop = during.kind === "checkpoint" || during.kind === "snapshot" || during.kind === "fork" || during.kind === "removePoint";
  const stopped = [...model.sandboxes].filter(([id, { state }]) => state === "stopped" && (id !== touched || isStop));
  const snapshots = [...model.snapshots].filter(([id]) => !(during.kind === "removeSnapshot" && during.snapshot === id));
  return { stopped: new Map(stopped.map(([id, { content }]) => [id, content])), snapshots: new Map(snapshots) };
}

/** The moments after a rollback, a stop and a checkpoint have answered. Nothing else has flushed anything. */
async function cutAfterAnswers(home: Home, worker: FaultWorker, model: FaultModel): Promise<Cut[]> {
  const act = async (operation: Operation): Promise<void> => model.settle(operation, await worker.ask(operation).outcome, undefined);
  const next: Operation = { kind: "create" };
  await act(next);
  const [id = ""] = model.sandboxes.keys();
  const cutAfter = async (kind: "stop" | "checkpoint"): Promise<Cut> => {
    await act({ kind: "write", id, text: `${kind}${FILLING}` });
    await act({ kind, id });
    return { during: next, ...promised(model, next), copy: await home.disk.cut() };
  };
  const cutAfterRollback = async (): Promise<Cut> => {
    await act({ kind: "checkpoint", id });
    for (const point of model.sandboxes.get(id)?.points.keys() ?? []) await act({ kind: "rollback", id, point });
    return { during: next, ...promised(model, next), copy: await home.disk.cut() };
  };
  return [await cutAfterRollback(), await cutAfter("stop"), await cutAfter("checkpoint")];
}

/** Works without end, while the power is cut now and then. Gives all checkpoints that were ever taken, too. */
async function workAndCut(home: Home, worker: FaultWorker, random: () => number) {
  const model = new FaultModel(FILLING);
  const [cuts, points]: [Cut[], Map<string, Content>] = [await cutAfterAnswers(home, worker, model), new Map()];
  const notePoints = (): void => {
    for (const known of model.sandboxes.values()) for (const [id, content] of known.points) points.set(id, content);
  };
  notePoints();
  for (let count = 0; count < CUTS * OPERATIONS_PER_CUT; count += 1) {
    const operation = model.choose(random);
    const asked = worker.ask(operation);
    if (count % OPERATIONS_PER_CUT === OPERATIONS_PER_CUT - 1) {
      await asked.begun;
      await wait(random() * LATEST_MS[operation.kind]);
      cuts.push({ during: operation, ...promised(model, operation), copy: await home.disk.cut() });
    }
    model.settle(operation, await asked.outcome, undefined);
    notePoints();
  }
  const seen = await lookAt(worker);
  for (const { id } of seen.sandboxes) await ask(worker, { kind: "kill", id });
  return { cuts, points };
}

/** Memory, which nothing of outlives a power cut. */
function runtimeOf({ folder }: CutDisk): string {
  return `${folder}.run`;
}

/** The machine starts again with the disk of the cut. */
async function checkCut(home: Home, cut: Cut, points: ReadonlyMap<string, Content>): Promise<void> {
  const { disk, ...workerHome } = home;
  await rm(runtimeOf(disk), { recursive: true, force: true });
  const worker = startFaultWorker({ ...workerHome, runtimeDirectory: runtimeOf(disk) }, await disk.enter(cut.copy));
  try {
    const seen = await lookAt(worker);
    expect(
      seen.sandboxes.filter(({ state }) => state === "stopped").map(({ id }) => id),
      JSON.stringify(cut.during),
    ).toEqual(expect.arrayContaining([...cut.stopped.keys()]));
    for (const [id, content] of cut.stopped) {
      const outcome = await worker.ask({ kind: "start", id }).outcome;
      await checkRun(worker, outcome, { id, content, isInMemory: home.storage === "tmpfs" });
    }
    for (const [snapshot, content] of cut.snapshots) {
      const { made = [] } = await ask(worker, { kind: "fork", from: { snapshot }, count: 1 });
      expect(await contentOf(worker, made[0]), `the fork of snapshot ${snapshot}`).toEqual(content);
    }
    for (const { id, points: listed } of seen.sandboxes)
      for (const point of listed) {
        const outcome = await worker.ask({ kind: "rollback", id, point }).outcome;
        await checkRun(worker, outcome, { id, content: points.get(point), isInMemory: home.storage === "tmpfs" });
      }
    await clearAll(worker);
  } finally {
    await worker.kill();
  }
}

async function contentOf(worker: FaultWorker, id: string | undefined): Promise<Content | undefined> {
  return (await lookAt(worker)).sandboxes.find((one) => one.id === id)?.content;
}

interface Expected {
  readonly id: string;
  readonly content: Content | undefined;
  readonly isInMemory: boolean;
}

/** After a start or a rollback. Files in memory are lost, and whoever asks for them is told so. */
async function checkRun(worker: FaultWorker, outcome: Outcome, { id, content, isInMemory }: Expected): Promise<void> {
  if (isInMemory) return expect(outcome).toMatchObject({ failed: "SANDBOX_FILES_LOST" });
  expect(outcome, `the run of ${id}`).toHaveProperty("done");
  expect(await contentOf(worker, id), `the files of ${id}`).toEqual(content);
}

async function clearAll(worker: FaultWorker): Promise<void> {
  const { sandboxes, snapshots } = await lookAt(worker);
  for (const { id } of sandboxes) await ask(worker, { kind: "kill", id });
  for (const snapshot of snapshots) await ask(worker, { kind: "removeSnapshot", snapshot });
  expect(await ask(worker, { kind: "sweepOld" }), worker.problems.join("\n")).toEqual({ left: [] });
}

describe.skipIf(process.getuid?.() !== 0)("the host's power that is cut at random moments", () => {
  for (const storage of STATE_STORAGES) {
    it(
      `takes no snapshot and no stop, and leaves no half checkpoint, with storage in ${storage}`,
      { timeout: CUTS * CUT_MS + 60_000 },
      async () => {
        const random = randomNumbers(readSeed());
        await using disk = await openCutDisk();
        const binary = join(import.meta.dirname, "../../../native/build/belljar-native");
        const home: Home = { home: join(disk.folder, "home"), storage, binary, marker: "none", disk };
        const { disk: _, ...workerHome } = home;
        const worker = startFaultWorker({ ...workerHome, runtimeDirectory: runtimeOf(disk) });
        const { cuts, points } = await workAndCut(home, worker, random);
        await worker.kill();
        await untilFlushed(home.home);
        if (storage === "btrfs") await untilUnmounted(home.home);
        await disk.unmount();
        for (const cut of cuts) await checkCut(home, cut, points);
        expect(cuts).toHaveLength(CUTS + 3);
      },
    );
  }
});
