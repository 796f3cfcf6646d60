import { existsSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { errnoOf } from "../../../../src/files/file-error.ts";
import { findIdMap, ID_MAP_KIND } from "../../../../src/runtime/namespace/id-map.ts";
import { createSandbox, run, soon } from "../../../contract/contract-sandbox.ts";
import { openCrashHome } from "../../../support/crash-home.ts";
import { guestOf, holderOf, keeperOf, mountsOf, removerOf, untilEnded, untilGone } from "../../../support/home-traces.ts";
import { startWorker } from "../../../support/home-worker.ts";
import { guestIn, type Home, makeHome, startRun } from "../../../support/namespace-home.ts";
import { runName } from "../../../support/run-of.ts";

const HOLDER = `holder-${ID_MAP_KIND[findIdMap().kind]}`;
const DISK_BYTES = 16 * 2 ** 20;
/** Until not one more small file can be made. */
const FILL =
  "head -c 64M /dev/urandom > filler; i=0; while [ $i -lt 20000 ] && echo y > small$i; do i=$((i + 1)); done; mkdir d; echo z > last";
const LOST = { code: "SANDBOX_FILES_LOST" };

const isRoot = process.getuid?.() === 0;
const runsOf = (home: Home): string => join(home.path, "run");

async function killHolder(home: Home): Promise<void> {
  const before = holderOf(runsOf(home));
  process.kill(before, "SIGKILL");
  await untilEnded(before);
}

it("the holder ends with the last layers, once nobody makes sandboxes any more", async () => {
  await using home = openCrashHome("tmpfs");
  const worker = startWorker("brief", home);
  const { made: id = "" } = await worker.says(({ made }) => made !== undefined);
  expect(await readdir(home.runtimeDirectory)).toContain(HOLDER);
  await worker.kill();
  await untilGone(home.runtimeDirectory, [runName(id), HOLDER]);
});

it("many sandboxes that start at once share one holder, and keep their files", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  const made = await Promise.all(Array.from({ length: 8 }, () => createSandbox(async () => runtime)));
  await Promise.all(made.map(({ guest, spec }) => guest.files.write("kept", spec.id, { signal: soon() })));
  for (const { running } of made) expect(await running.stop()).toMatchObject({ kept: true });
  for (const sandbox of made) {
    await using again = await startRun(sandbox, 2);
    expect((await guestIn(again).files.read("kept", { signal: soon() })).toString()).toBe(sandbox.spec.id);
  }
  await Promise.all(made.map((one) => one[Symbol.asyncDispose]()));
});

it("a sandbox whose disk in memory is full is stopped and started again with its files", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime, { limits: { diskBytes: DISK_BYTES } });
  await sandbox.guest.files.write("kept", "x", { signal: soon() });
  expect((await run(sandbox.guest, FILL)).stderr.toString()).toContain("No space left");
  expect(await sandbox.running.stop()).toMatchObject({ reason: "stopped", kept: true });
  await using again = await startRun(sandbox, 2);
  expect((await guestIn(again).files.read("kept", { signal: soon() })).toString()).toBe("x");
  expect((await run(guestIn(again), FILL)).stderr.toString()).toContain("No space left");
});

it("a sandbox whose holder was killed goes on, cannot be stopped, and ends", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime);
  await killHolder(home);
  expect((await run(sandbox.guest, "echo x > file && mkdir /tmp/new && cat file")).stdout.toString()).toBe("x\n");
  const refused = { code: "NOT_SUPPORTED", message: expect.stringContaining("the process that held its files in memory is gone") };
  await expect(sandbox.running.stop()).rejects.toMatchObject(refused);
  await expect(sandbox.running.extend(new Date(Date.now() + 60_000), "stop")).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
  await using other = await createSandbox(async () => runtime);
  expect((await run(other.guest, "exit 5")).exitCode).toBe(5);
  expect((await run(sandbox.guest, "cat file")).stdout.toString()).toBe("x\n");
  expect((await sandbox.running.kill("killed")).kept).toBeUndefined();
});

it("a stopped sandbox whose holder was killed is not started empty, and can be deleted", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime);
  await sandbox.running.stop();
  await killHolder(home);
  for (const generation of [2, 3]) {
    await expect(startRun(sandbox, generation)).rejects.toMatchObject(LOST);
    expect(await runtime.clear({ ...sandbox.spec, generation })).toMatchObject({ kept: true });
  }
  await using other = await createSandbox(async () => runtime);
  await expect(startRun(sandbox, 4)).rejects.toMatchObject(LOST);
  await runtime.layers.remove({ ...sandbox.spec, generation: 4 });
  expect((await run(other.guest, "exit 5")).exitCode).toBe(5);
});

it.each(["keeper", "first process"])("the layers of a first run go when its %s is killed", async (victim) => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime);
  const keeper = keeperOf(sandbox.spec.folder);
  process.kill(victim === "keeper" ? keeper : guestOf(keeper), "SIGKILL");
  expect((await sandbox.running.ended).kept).toBeUndefined();
  await expect(startRun(sandbox, 2)).rejects.toMatchObject(LOST);
});

it("a later run that loses its keeper leaves the layers that a stop kept", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime);
  await sandbox.guest.files.write("kept", "x", { signal: soon() });
  await sandbox.running.stop();
  const second = await startRun(sandbox, 2);
  process.kill(keeperOf(sandbox.spec.folder), "SIGKILL");
  expect(await second.ended).toMatchObject({ reason: "keeper_lost", kept: true });
  await using third = await startRun(sandbox, 3);
  expect((await guestIn(third).files.read("kept", { signal: soon() })).toString()).toBe("x");
});

it("layers go when they are removed, and when their sandbox's folder is deleted", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using removed = await createSandbox(async () => runtime);
  await using deleted = await createSandbox(async () => runtime);
  await removed.running.stop();
  await deleted.running.stop();
  await runtime.layers.remove(removed.spec);
  await rm(deleted.spec.folder, { recursive: true });
  await mkdir(deleted.spec.folder);
  await expect(startRun(removed, 2)).rejects.toMatchObject(LOST);
  const again = startRun(deleted, 2);
  await expect(again).rejects.toMatchObject(LOST);
});

it("the holder ends when its socket is deleted, and another one serves the next sandbox", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime);
  const first = holderOf(runsOf(home));
  await rm(join(runsOf(home), HOLDER));
  await using other = await createSandbox(async () => runtime);
  expect(holderOf(runsOf(home))).not.toBe(first);
  expect((await run(sandbox.guest, "exit 4")).exitCode).toBe(4);
  expect(await other.running.stop()).toMatchObject({ kept: true });
});

it("empty files stop at a limit too, in every run", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime, { limits: { diskBytes: DISK_BYTES } });
  const count = "i=0; while [ $i -lt 20000 ] && : > empty$i; do i=$((i + 1)); done; echo $i";
  expect(Number((await run(sandbox.guest, count)).stdout.toString())).toBeLessThan(6_000);
  await sandbox.running.stop();
  await using again = await startRun(sandbox, 2);
  // A few, so that it starts and files can be removed.
  expect(Number((await run(guestIn(again), `mkdir more && cd more && ${count}`)).stdout.toString())).toBeLessThan(100);
});

it("a stop waits for a holder that takes its time", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime);
  await sandbox.guest.files.write("kept", "x", { signal: soon() });
  const inside = guestOf(keeperOf(sandbox.spec.folder));
  const holder = holderOf(runsOf(home));
  process.kill(holder, "SIGSTOP");
  const stopping = sandbox.running.stop();
  await vi.waitUntil(() => !existsSync(`/proc/${inside}`), { timeout: 30_000 });
  expect(existsSync(join(sandbox.spec.folder, "runs/1/end.json"))).toBe(false);
  process.kill(holder, "SIGCONT");
  expect(await stopping).toMatchObject({ reason: "stopped", kept: true });
  await using again = await startRun(sandbox, 2);
  expect((await guestIn(again).files.read("kept", { signal: soon() })).toString()).toBe("x");
});

it("a later run whose holder was killed says at its end that nothing is kept", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime);
  await sandbox.running.stop();
  const second = await startRun(sandbox, 2);
  await killHolder(home);
  process.kill(guestOf(keeperOf(sandbox.spec.folder)), "SIGKILL");
  expect((await second.ended).kept).toBeUndefined();
});

it("files that another holder has are not told as lost", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime);
  await sandbox.guest.files.write("kept", "x", { signal: soon() });
  await sandbox.running.stop();
  const elsewhere = await home.open("tmpfs", "elsewhere");
  const start = elsewhere.create({ ...sandbox.spec, generation: 2 }, soon());
  await expect(start).rejects.toMatchObject({ code: "RUNTIME_UNAVAILABLE", message: expect.stringContaining(join(runsOf(home), HOLDER)) });
  await using again = await startRun(sandbox, 3);
  expect((await guestIn(again).files.read("kept", { signal: soon() })).toString()).toBe("x");
});

it("the holder has nothing of the host mounted, and its own user cannot look into it", async () => {
  await using home = await makeHome();
  const runtime = await home.open("tmpfs");
  await using sandbox = await createSandbox(async () => runtime);
  const holder = holderOf(runsOf(home));
  expect(mountsOf(holder)).toEqual(["/", `/${sandbox.spec.id}`]);
  for (const pid of [holder, removerOf(holder)]) {
    // Root looks where it likes.
    expect(await readdir(`/proc/${pid}/fd`).then(() => "open", errnoOf)).toBe(isRoot ? "open" : "EACCES");
  }
});
