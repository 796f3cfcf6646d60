import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { createGuest } from "../../../src/runtime/guest/create-guest.ts";
import { openPoolLab, type PoolLab } from "../../support/pool-lab.ts";

const KILLS = 12;
const FILLER = resolve(import.meta.dirname, "../../fixtures/pool-filler.mjs");

/** A process of Belljar that keeps sandboxes ready, and can be killed at any moment. */
function startFiller({ home }: PoolLab): ChildProcess {
  return fork(FILLER, [home.path], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
}

async function killed(filler: ChildProcess): Promise<void> {
  filler.kill("SIGKILL");
  await once(filler, "exit");
}

/** What waits without a maker meets its deadline now. */
async function passDeadlines(lab: PoolLab): Promise<void> {
  const runtime = await lab.home.open("auto");
  const inside = await runtime.layers.describe({ template: "base" });
  for (const id of lab.folders().filter((name) => /^[a-z0-9]{20}$/.test(name))) {
    const folder = join(lab.home.path, "sandboxes", id);
    if (existsSync(join(folder, "sandbox.json"))) continue; // it had an owner, and was killed
    const running = await runtime.open({ id, generation: 1, folder, inside });
    await running?.extend(new Date(1), "kill").catch(() => undefined); // it may end just now
    await running?.ended;
  }
}

it("a pool whose process was killed at any moment leaves nothing after its deadline, and gives no sandbox twice", async () => {
  await using lab = await openPoolLab();
  for (let turn = 0; turn < KILLS; turn++) {
    const filler = startFiller(lab);
    await once(filler, "message"); // it is about to make the first one
    for (let at = 0; at < turn * 7; at++) await new Promise((done) => setImmediate(done));
    if (turn % 3 === 2) await lab.hasWaiting(1);
    await killed(filler);
    const place = await lab.open({});
    const known = lab.waiting();
    const [one, other] = await Promise.all([place.create(), place.create()]);
    expect(one.id).not.toBe(other.id);
    for (const sandbox of [one, other]) {
      await createGuest((signal) => sandbox.connect(signal)).ping(AbortSignal.timeout(10_000));
      await sandbox.kill();
    }
    expect(lab.waiting().length).toBe(Math.max(0, known.length - 2));
    await passDeadlines(lab);
    await place.sandboxes.sweep();
    const left = lab.folders().filter((name) => !existsSync(join(lab.home.path, "sandboxes", name, "sandbox.json")));
    expect([lab.waiting(), left.filter((name) => !name.startsWith("."))]).toEqual([[], []]);
    await place[Symbol.asyncDispose]();
  }
}, 240_000);

it("a program's sandbox that waits ends with its process at once", async () => {
  await using lab = await openPoolLab();
  const filler = fork(FILLER, [lab.home.path, "programs"], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const [id = ""] = await lab.hasWaiting(1);
  const runtime = await lab.home.open("auto");
  const inside = await runtime.layers.describe({ template: "base" });
  const running = await runtime.open({ id, generation: 1, folder: join(lab.home.path, "sandboxes", id), inside });
  await killed(filler);
  await running?.ended;
  const place = await lab.open({});
  await place.sandboxes.sweep();
  expect([lab.waiting(), lab.folders()]).toEqual([[], []]);
}, 60_000);
