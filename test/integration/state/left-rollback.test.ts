import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { BelljarError } from "../../../src/errors.ts";
import { Journal } from "../../../src/sandbox/journal.ts";
import { RunStates } from "../../../src/sandbox/run-states.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { CheckpointFiles } from "../../../src/sandbox/state/checkpoint-files.ts";
import { openStateHome, shell, type StateHome, STATE_STORAGES } from "../../support/state-home.ts";

const signal = new AbortController().signal;

/** A stopped sandbox, as a process leaves it that dies in a rollback to its one checkpoint once the state names that. */
async function openLeft(home: StateHome) {
  const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
  await shell(sandbox, "echo point > notes");
  const { id: point } = await sandbox.timeLine.checkpoint({}, signal);
  await shell(sandbox, "echo later > notes");
  await sandbox.stop();
  const journal = new Journal(home.crash.home, () => undefined);
  const { record } = (await journal.read(sandbox.id))!;
  const checkpoint = await new CheckpointFiles(
    (id) => journal.folder(id),
    () => undefined,
  ).find(sandbox.id, point);
  const states = new RunStates(journal);
  await states.change(record, (now) => ({ ...now, rewind: { point, layers: checkpoint!.layers } }));
  return { id: sandbox.id, point, folder: journal.folder(sandbox.id), rewind: async () => (await states.read(record)).rewind };
}

for (const storage of STATE_STORAGES) {
  it(`a rollback whose process died is finished by the next start, with storage in ${storage}`, async () => {
    await using home = await openStateHome(storage);
    const left = await openLeft(home);
    const other = await home.open();
    const both = [home.sandboxes, other].map(async (one) => (await one.get(LOCAL, left.id)).start(signal));
    const started = (await Promise.allSettled(both)).filter(({ status }) => status === "fulfilled");
    expect(started.length).toBeGreaterThan(0);
    const sandbox = await home.sandboxes.get(LOCAL, left.id);
    expect(await shell(sandbox, "cat notes")).toBe("point");
    expect([await left.rewind(), (await sandbox.timeLine.list()).head]).toEqual([undefined, left.point]);
  });
}

it("a rollback whose process died is finished before the sandbox is frozen", async () => {
  await using home = await openStateHome();
  const left = await openLeft(home);
  const [fork] = await home.sandboxes.snapshots.fork(LOCAL, { sandbox: left.id }, {}, signal);
  expect(await shell(fork!, "cat notes")).toBe("point");
});

it("a rollback that cannot be written down leaves a stopped sandbox with all that it has written", async () => {
  await using home = await openStateHome();
  const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
  const { id: point } = await sandbox.timeLine.checkpoint({}, signal);
  await shell(sandbox, "echo later > notes");
  vi.spyOn(RunStates.prototype, "change").mockRejectedValueOnce(new BelljarError("DISK_FULL", "no room for the state"));
  await expect(sandbox.timeLine.rollback(point, signal)).rejects.toMatchObject({ code: "DISK_FULL" });
  expect((await sandbox.info()).state).toBe("stopped");
  const again = await (await home.open()).get(LOCAL, sandbox.id);
  expect(await shell(await again.start(signal), "cat notes")).toBe("later");
});

it("a sandbox that another process freezes or puts back is not started meanwhile, and stays stopped", async () => {
  await using home = await openStateHome();
  const sandbox = await home.sandboxes.create(LOCAL, {}, signal);
  await sandbox.stop();
  const { markProcess } = await import("../../../src/sandbox/workspace/apply/process-mark.ts");
  const folder = join(home.crash.home, "sandboxes", sandbox.id);
  const write = (number: number, work: object) => writeFile(join(folder, `work.${number}.json`), JSON.stringify({ version: 1, ...work }));
  await write(1, { work: { kind: "freeze", user: "snapshot-x", token: "t", by: await markProcess(process.ppid) } });
  const stopped = await home.sandboxes.get(LOCAL, sandbox.id);
  for (const asked of [() => stopped.start(signal), () => stopped.timeLine.checkpoint({}, signal)])
    await expect(asked()).rejects.toMatchObject({ code: "RUNTIME_UNAVAILABLE" });
  expect((await stopped.info()).state).toBe("stopped");
  await write(2, {});
  expect(await shell(await stopped.start(signal), "echo runs")).toBe("runs");
});
