import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, statfsSync } from "node:fs";
import { readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as moment } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Runtime } from "../../../../src/runtime/contract/runtime.ts";
import { BtrfsPool } from "../../../../src/runtime/namespace/btrfs-pool.ts";
import { openStorage } from "../../../../src/runtime/namespace/storage.ts";
import { createLocalSandboxes } from "../../../../src/sandbox/local-sandboxes.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { createSandbox, run, soon } from "../../../contract/contract-sandbox.ts";
import { outside } from "../../../security/support/outside.ts";
import { byName } from "../../../support/by-name.ts";
import { BINARY, type Home, makeHome } from "../../../support/namespace-home.ts";
import { NO_POOL, poolTraces, untilPoolIs, untilUnmounted } from "../../../support/pool-traces.ts";

const isRoot = process.getuid?.() === 0;
const USER = join(import.meta.dirname, "../../../fixtures/pool-user.mjs");
const MIB = 2 ** 20;

/** Another process that has the pool open. It has said so, or is only starting. */
function startUser({ path }: Home, makesSandbox = false): ChildProcess {
  const request = JSON.stringify({ home: path, runtimeDirectory: join(path, "run"), binary: BINARY, makesSandbox });
  return spawn(process.execPath, [USER, request], { stdio: ["pipe", "pipe", "inherit"] });
}

async function opened(child: ChildProcess): Promise<string> {
  const [line] = await once(child.stdout ?? child, "data");
  return String(line).trim();
}

async function kill(child: ChildProcess): Promise<unknown> {
  child.kill("SIGKILL");
  return (await once(child, "exit"))[0];
}

async function close(child: ChildProcess): Promise<unknown> {
  child.stdin?.end();
  return (await once(child, "exit"))[0];
}

function poolIn({ path }: Home): BtrfsPool {
  return new BtrfsPool({ home: path, binary: BINARY });
}

async function isLocked({ path }: Home): Promise<boolean> {
  return (await outside(["flock", "--nonblock", "--exclusive", join(path, "pool.lock"), "true"])).code === 1;
}

/** A runtime that lets go of its pool at the end. */
function poolOf(runtime: Runtime): AsyncDisposable & { readonly runtime: Runtime } {
  return { runtime, [Symbol.asyncDispose]: async () => runtime.storagePool?.[Symbol.asyncDispose]() };
}

describe.skipIf(!isRoot)("the storage pool (skipped without root, who alone has one)", () => {
  it("is mounted for the time line of a stopped sandbox", async () => {
    await using home = await makeHome();
    const first = await home.open("btrfs");
    const before = createLocalSandboxes({ home: home.path, runtimes: byName(first), config: CONFIG });
    const made = await before.create(LOCAL, { bestEffort: true }, soon());
    await made.guest.files.write("kept", "x", { signal: soon() });
    const { id } = await made.timeLine.checkpoint({}, soon());
    await made.guest.files.write("kept", "y", { signal: soon() });
    await made.stop();
    await before[Symbol.asyncDispose]();
    await first.storagePool?.[Symbol.asyncDispose]();
    await untilUnmounted(home.path);
    await using second = poolOf(await home.open("auto"));
    await using later = createLocalSandboxes({ home: home.path, runtimes: byName(second.runtime), config: CONFIG });
    const stopped = await later.get(LOCAL, made.id);
    expect((await stopped.timeLine.list()).checkpoints.map((one) => one.id)).toEqual([id]);
    const { sandbox } = await stopped.timeLine.rollback(id, soon());
    expect((await sandbox.guest.files.read("kept", { signal: soon() })).toString()).toBe("x");
    await sandbox.kill();
  });

  it("is mounted when it is needed, not when a process starts", async () => {
    await using home = await makeHome();
    await using pool = poolIn(home);
    await pool.open();
    await pool[Symbol.asyncDispose]();
    await untilUnmounted(home.path);
    const runtime = await home.open("auto");
    await using sandboxes = createLocalSandboxes({ home: home.path, runtimes: byName(runtime), config: CONFIG });
    expect((await sandboxes.list(LOCAL)).sandboxes).toEqual([]);
    await sandboxes.sweep();
    const small = await sandboxes.create(LOCAL, { limits: { memoryBytes: 64 * MIB, diskBytes: 32 * MIB } }, soon());
    expect([(await small.guest.run({ argv: ["true"], signal: soon() })).exitCode, await poolTraces(home.path)]).toEqual([0, NO_POOL]);
    await small.kill();
  });

  it.each([
    ["closes it", close, 0],
    ["is killed", kill, null],
  ] as const)("is unmounted when its last process %s", async (_ending, end, code) => {
    await using home = await makeHome();
    const [one, other] = [startUser(home), startUser(home)];
    await Promise.all([opened(one), opened(other)]);
    await untilPoolIs(home.path, { mounts: 1, devices: 1, caretakers: [expect.any(Number)] });
    await kill(one);
    expect([await isLocked(home), await poolTraces(home.path)]).toMatchObject([true, { mounts: 1 }]);
    expect(await end(other)).toBe(code);
    await untilUnmounted(home.path);
  });

  it("stays while a sandbox lives in it that no process serves, and goes with it", async () => {
    await using home = await makeHome();
    const maker = startUser(home, true);
    const id = await opened(maker);
    await kill(maker);
    // Nobody but the keeper has it.
    expect([await isLocked(home), await poolTraces(home.path)]).toMatchObject([true, { mounts: 1, devices: 1 }]);
    const runtime = await home.open("auto");
    await using sandboxes = createLocalSandboxes({ home: home.path, runtimes: byName(runtime), config: CONFIG });
    await (await sandboxes.get(LOCAL, id)).kill();
    await runtime.storagePool?.[Symbol.asyncDispose]();
    await untilUnmounted(home.path);
    await using again = poolIn(home);
    expect((await again.holds())?.sandboxes.size).toBe(0);
  });

  it("is there for each of many that open it while others close it", async () => {
    await using home = await makeHome();
    const turns = Array.from({ length: 4 }, async (_turn, name) => {
      for (let round = 0; round < 15; round += 1) {
        await using pool = poolIn(home);
        await pool.open();
        await writeFile(join(home.path, "pool", `file-${name}`), String(round));
        expect((await poolTraces(home.path)).mounts).toBe(1);
        expect(await readFile(join(home.path, "pool", `file-${name}`), "utf8")).toBe(String(round));
      }
    });
    await Promise.all(turns);
    await untilUnmounted(home.path);
    // What was written while it was not mounted would lie here.
    expect(existsSync(join(home.path, "pool/file-0"))).toBe(false);
    await using pool = poolIn(home);
    await pool.open();
    expect(await readFile(join(home.path, "pool/file-0"), "utf8")).toBe("14");
  });

  it("is whole and unmounted after processes were killed while they opened it", { timeout: 120_000 }, async () => {
    await using home = await makeHome();
    const since = performance.now();
    const first = startUser(home);
    await opened(first);
    const took = performance.now() - since;
    await kill(first);
    for (let round = 0; round < 12; round += 1) {
      const user = startUser(home);
      await moment(took * (0.4 + Math.random() * 0.6)); // most fall between the start of the native program and its end
      await kill(user);
    }
    await using pool = poolIn(home);
    expect((await pool.holds())?.sizeBytes).toBeGreaterThan(0);
    await untilPoolIs(home.path, { mounts: 1, devices: 1, caretakers: [expect.any(Number)] });
    await pool[Symbol.asyncDispose]();
    await untilUnmounted(home.path);
  });

  it("gets another caretaker from the next process when its own was killed", async () => {
    await using home = await makeHome();
    await using first = poolIn(home);
    await first.open();
    const [caretaker = 0] = (await poolTraces(home.path)).caretakers;
    process.kill(caretaker, "SIGTERM");
    expect((await poolTraces(home.path)).caretakers).toEqual([caretaker]);
    process.kill(caretaker, "SIGKILL");
    // Whoever comes while it still dies finds its lock.
    await untilPoolIs(home.path, { mounts: 1, caretakers: [] });
    await using second = poolIn(home);
    await second.open();
    await untilPoolIs(home.path, { caretakers: [expect.not.closeTo(caretaker, 0)] });
    await Promise.all([first[Symbol.asyncDispose](), second[Symbol.asyncDispose]()]);
    await untilUnmounted(home.path);
  });

  it("that something of the host still has open is mounted again from the same device, with its files", async () => {
    await using home = await makeHome();
    await using pool = poolIn(home);
    await pool.open();
    await writeFile(join(home.path, "pool/kept"), "x");
    const folder = openSync(join(home.path, "pool"), "r");
    // An earlier Belljar gave its device a file that it had locked.
    const locked = spawn("flock", [join(home.path, "pool.img"), "sh", "-c", "echo locked; exec cat"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(locked.stdout, "data");
    await pool[Symbol.asyncDispose]();
    await expect.poll(() => poolTraces(home.path), { timeout: 30_000 }).toEqual({ mounts: 0, devices: 1, caretakers: [] });
    await pool.open();
    expect(await readFile(join(home.path, "pool/kept"), "utf8")).toBe("x");
    expect(await poolTraces(home.path)).toMatchObject({ mounts: 1, devices: 1 });
    closeSync(folder);
    locked.stdin.end();
    await pool[Symbol.asyncDispose]();
    await untilUnmounted(home.path);
  });

  it("gives its room back to the host when it is unmounted, and when it is tended", async () => {
    await using home = await makeHome();
    await using pool = poolIn(home);
    const taken = async (): Promise<number> => ((await stat(join(home.path, "pool.img"))).blocks * 512) / MIB;
    for (const end of [() => pool.tend(), () => pool[Symbol.asyncDispose]().then(() => untilUnmounted(home.path))]) {
      await pool.open();
      await outside(["dd", "if=/dev/zero", `of=${home.path}/pool/big`, "bs=1M", "count=200", "conv=fsync"]);
      expect(await taken()).toBeGreaterThan(190);
      await rm(join(home.path, "pool/big"));
      await outside(["sync", "-f", join(home.path, "pool")]);
      await end();
      expect(await taken()).toBeLessThan(50);
    }
  });

  it("gives back what a deleted sandbox and its frozen layer held", async () => {
    await using home = await makeHome();
    const runtime = await home.open("btrfs");
    const sandbox = await createSandbox(async () => runtime);
    await run(sandbox.guest, "head -c 60M /dev/urandom > kept; sync");
    const { states } = runtime.layers;
    const frozen = await states?.freeze({ run: sandbox.spec, isRunning: true, user: "test", durable: true, isOwn: false }, soon());
    await sandbox.running.kill("killed");
    await states?.letGo(frozen?.layers ?? [], "test");
    await runtime.storagePool?.[Symbol.asyncDispose]();
    await untilUnmounted(home.path);
    expect(((await stat(join(home.path, "pool.img"))).blocks * 512) / MIB).toBeLessThan(20);
  });

  it("grows and shrinks with its files, and stays as it is when they leave no room for less", async () => {
    await using home = await makeHome();
    await using pool = poolIn(home);
    await pool.open();
    const folder = join(home.path, "pool");
    await outside(["dd", "if=/dev/urandom", `of=${folder}/kept`, "bs=1M", "count=400", "conv=fsync"]);
    const before = await outside(["sha256sum", join(folder, "kept")]);
    const size = (): number => (statfsSync(folder).blocks * statfsSync(folder).bsize) / MIB;
    const fit = (mib: number) => outside([BINARY, "pool", "tend", join(home.path, "pool.img"), folder, String(mib * MIB)]);
    for (const mib of [4096, 8192, 3072, 300, 6000]) {
      expect(await fit(mib)).toMatchObject({ code: 0, err: "" });
      const expected = mib === 300 ? 3072 : mib;
      expect([mib, size(), (await stat(join(home.path, "pool.img"))).size / MIB]).toEqual([mib, expected, expected]);
    }
    await pool[Symbol.asyncDispose]();
    await untilUnmounted(home.path);
    await pool.open();
    expect(await outside(["sha256sum", join(folder, "kept")])).toEqual(before);
  });

  it("says what each sandbox in it wrote, and how many frozen layers it has", async () => {
    await using home = await makeHome();
    const runtime = await home.open("btrfs");
    await using sandbox = await createSandbox(async () => runtime);
    await run(sandbox.guest, "head -c 30M /dev/urandom > kept; sync");
    const states = runtime.layers.states;
    await states?.freeze({ run: sandbox.spec, isRunning: true, user: "test", durable: true, isOwn: false }, soon());
    await outside(["sync", "-f", join(home.path, "pool")]);
    const holdings = await runtime.storagePool?.holds();
    expect([...(holdings?.sandboxes.keys() ?? [])]).toEqual([sandbox.spec.id]);
    expect((holdings?.sandboxes.get(sandbox.spec.id) ?? 0) / MIB).toBeCloseTo(30, 0);
    expect(holdings).toMatchObject({ layers: 1 });
    expect(holdings?.usedBytes).toBeGreaterThan(30 * MIB);
    expect(holdings?.sizeBytes).toBeGreaterThan(holdings?.usedBytes ?? Infinity);
    expect(holdings?.hostBytes).toBeGreaterThan(30 * MIB);
  });

  it("that cannot be mounted any more leaves new sandboxes to memory, unless somebody asked for it by name", async () => {
    await using home = await makeHome();
    await truncate(join(home.path, "pool.img"), 0).catch(() => writeFile(join(home.path, "pool.img"), ""));
    const options = { home: home.path, binary: BINARY };
    const storage = await openStorage({ ...options, storage: "auto" }, true);
    expect(await storage.choose({})).toBe("tmpfs");
    expect(storage.kind).toBe("tmpfs");
    const named = await openStorage({ ...options, storage: "btrfs" }, true);
    await expect(named.choose({})).rejects.toMatchObject({ code: "RUNTIME_UNAVAILABLE" });
    expect(await poolTraces(home.path)).toEqual(NO_POOL);
  });
});

const CONFIG = { sandbox: { timeoutMs: 60_000 }, listMax: 10, tombstoneRetentionMs: 60_000 };
