import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync } from "node:fs";
import { readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { BelljarError } from "../../../../src/errors.ts";
import { findCgroups } from "../../../../src/runtime/namespace/cgroups.ts";
import { clearFolder } from "../../../../src/runtime/namespace/clear-folder.ts";
import { encodeClearSpec } from "../../../../src/runtime/namespace/jail-spec.ts";
import { runName } from "../../../../src/runtime/namespace/run-paths.ts";
import { type ContractSandbox, createSandbox, run, soon } from "../../../contract/contract-sandbox.ts";
import { guestOf, keeperOf } from "../../../support/home-traces.ts";
import { BINARY, guestIn, makeHome, placeOf, startRun, type StorageName } from "../../../support/namespace-home.ts";

const isRoot = process.getuid?.() === 0;
const DISK_BYTES = 32 * 2 ** 20;
/** Until not one more small file can be made. */
const FILL =
  "head -c 64M /dev/urandom > filler; i=0; while [ $i -lt 20000 ] && echo y > small$i; do i=$((i + 1)); done; sync; echo z > last";

/** Each line: the configuration that a sandbox was made with, and the one that it is started with. */
const CHANGES: readonly (readonly [StorageName, StorageName])[] = isRoot
  ? [
      ["home", "btrfs"],
      ["btrfs", "home"],
      ["btrfs", "tmpfs"],
    ]
  : [["home", "tmpfs"]];

it.each(CHANGES)("what was written with storage %s is there when the configuration says %s", async (made, now) => {
  await using home = await makeHome();
  const before = await home.open(made);
  await using sandbox = await createSandbox(async () => before);
  await sandbox.guest.files.write("kept", "x", { signal: soon() });
  await sandbox.running.stop();
  await home.unmount();
  const after = await home.open(now);
  const second = { ...sandbox.spec, generation: 2, deadlineAction: "stop" } as const;
  const limited = { ...second, limits: { diskBytes: DISK_BYTES }, required: ["diskBytes"] } as const;
  const answer = await after.create(limited, soon()).catch((cause: unknown) => cause as BelljarError);
  await using again = answer instanceof BelljarError ? await after.create(second, soon()) : answer;
  expect(answer).toMatchObject(made === "home" ? { code: "LIMIT_UNENFORCEABLE" } : { generation: 2 });
  expect((await guestIn(again).files.read("kept", { signal: soon() })).toString()).toBe("x");
  await again.stop();
  await home.unmount();
  await after.layers.remove({ ...sandbox.spec, generation: 2 });
  for (const layers of [join(sandbox.spec.folder, "layers"), join(home.path, "pool", sandbox.spec.id)])
    expect(existsSync(layers)).toBe(false);
});

it.skipIf(!isRoot)(
  "a sandbox whose pool is gone is not started empty, and can be deleted (skipped without root, who alone has a pool)",
  async () => {
    await using home = await makeHome();
    const runtime = await home.open("btrfs");
    await using sandbox = await createSandbox(async () => runtime);
    await sandbox.running.stop();
    await home.unmount();
    await rename(join(home.path, "pool.img"), join(home.path, "away"));
    await expect(startRun(sandbox, 2)).rejects.toMatchObject({ code: "RUNTIME_UNAVAILABLE" });
    await runtime.layers.remove({ ...sandbox.spec, generation: 2 });
  },
);

const groups = findCgroups().bases;

it.skipIf(groups.length === 0)("what one run could not clear is cleared by a later start (skipped without control groups)", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  await using sandbox = await createSandbox(async () => runtime);
  const own = groups.map(({ path }) => join(path, runName(sandbox.spec)));
  const stranger = spawn("sleep", ["600"], { stdio: "ignore" });
  await writeFile(join(own[0] ?? "", "cgroup.procs"), String(stranger.pid));
  expect(await sandbox.running.stop()).toMatchObject({ kept: true });
  expect(own.filter((path) => existsSync(path))).not.toEqual([]);
  stranger.kill("SIGKILL");
  await once(stranger, "exit");
  await using again = await startRun(sandbox, 2);
  expect(own.filter((path) => existsSync(path))).toEqual([]);
  expect(await readdir(join(home.path, "run"))).toEqual([runName(again)]);
});

it.skipIf(!isRoot)(
  "a sandbox whose disk is full is stopped and started again with its files (skipped without root, who alone has a pool)",
  async () => {
    await using home = await makeHome();
    const runtime = await home.open("btrfs");
    await using sandbox = await createSandbox(async () => runtime, { limits: { diskBytes: DISK_BYTES } });
    await sandbox.guest.files.write("kept", "x", { signal: soon() });
    expect((await run(sandbox.guest, FILL)).stderr.toString()).toContain("quota");
    expect(await sandbox.running.stop()).toMatchObject({ reason: "stopped", kept: true });
    await using again = await startRun(sandbox, 2);
    expect((await guestIn(again).files.read("kept", { signal: soon() })).toString()).toBe("x");
    expect((await run(guestIn(again), FILL)).stderr.toString()).toContain("quota");
  },
);

it("a later run that ends by itself leaves the files that a stop kept", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  await using sandbox = await createSandbox(async () => runtime);
  await sandbox.guest.files.write("kept", "x", { signal: soon() });
  await sandbox.running.stop();
  const second = await startRun(sandbox, 2);
  process.kill(guestOf(keeperOf(sandbox.spec.folder)), "SIGKILL");
  expect(await second.ended).toMatchObject({ reason: "killed", kept: true });
  await using third = await startRun(sandbox, 3);
  expect((await guestIn(third).files.read("kept", { signal: soon() })).toString()).toBe("x");
});

it("no run starts beside one that lives, and the one that lives keeps its files", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  await using sandbox = await createSandbox(async () => runtime);
  await sandbox.guest.files.write("kept", "x", { signal: soon() });
  const refused = { code: "RUNTIME_FAILED", message: expect.stringContaining("another run of the sandbox uses its files") };
  await expect(startRun(sandbox, 2)).rejects.toMatchObject(refused);
  await expect(runtime.layers.remove({ ...sandbox.spec, generation: 2 })).rejects.toMatchObject({ code: "RUNTIME_FAILED" });
  await run(sandbox.guest, "echo more >> kept && mv kept moved && mkdir folder");
  await sandbox.running.stop();
  await using again = await startRun(sandbox, 3);
  expect((await run(guestIn(again), "cat moved; rmdir folder")).stdout.toString()).toBe("xmore\n");
});

/** Another process's lock of the folder of all runs, as one that is ending has it. */
async function lockRuns({ spec }: ContractSandbox): Promise<{ isAwaited(): boolean; release(): Promise<void> }> {
  const runs = join(spec.folder, "runs");
  const holder = spawn("flock", [runs, "sh", "-c", "echo locked; exec cat"], { stdio: ["pipe", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  const { ino } = statSync(runs);
  return {
    isAwaited: () =>
      readFileSync("/proc/locks", "utf8")
        .split("\n")
        .some((line) => line.includes("->") && line.includes(`:${ino} `)),
    async release() {
      holder.stdin.end();
      await once(holder, "exit");
    },
  };
}

it("a run waits for one that is just ending, but not for ever", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  await using sandbox = await createSandbox(async () => runtime);
  await sandbox.running.stop();
  const long = await lockRuns(sandbox);
  await expect(startRun(sandbox, 2)).rejects.toMatchObject({
    message: expect.stringContaining("another run of the sandbox uses its files"),
  });
  await expect(runtime.layers.remove({ ...sandbox.spec, generation: 2 })).rejects.toMatchObject({ code: "RUNTIME_FAILED" });
  await long.release();
  const short = await lockRuns(sandbox);
  const starting = startRun(sandbox, 3);
  await vi.waitUntil(() => short.isAwaited(), { timeout: 30_000, interval: 5 });
  await short.release();
  await using again = await starting;
  expect(again.generation).toBe(3);
});

it("a first run is started once, and a second start of it touches nothing", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  await using sandbox = await createSandbox(async () => runtime);
  await sandbox.guest.files.write("kept", "x", { signal: soon() });
  const refused = { code: "RUNTIME_FAILED", message: expect.stringContaining("was started or cleared before") };
  await expect(runtime.create(sandbox.spec, soon())).rejects.toMatchObject(refused);
  expect((await sandbox.guest.files.read("kept", { signal: soon() })).toString()).toBe("x");
  await sandbox.running.stop();
  await expect(runtime.create(sandbox.spec, soon())).rejects.toMatchObject(refused);
  await using again = await startRun(sandbox, 2);
  expect((await guestIn(again).files.read("kept", { signal: soon() })).toString()).toBe("x");
});

it("a start that comes too late, and a keeper that says nothing, leave the files that a stop kept", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  await using sandbox = await createSandbox(async () => runtime);
  await sandbox.guest.files.write("kept", "x", { signal: soon() });
  await sandbox.running.stop();
  const second = await startRun(sandbox, 2);
  const place = placeOf(home, { ...sandbox.spec, generation: 2 });
  expect(await clearFolder(BINARY, encodeClearSpec(place, { keeper: "silent", removesLayers: false }))).toBe(true);
  // Its watch here may have seen the keeper go, and have written the end first.
  expect(await second.ended).toMatchObject({ reason: "killed", kept: true });
  await using third = await startRun(sandbox, 3);
  expect((await guestIn(third).files.read("kept", { signal: soon() })).toString()).toBe("x");
});
