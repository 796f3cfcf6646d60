import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect } from "vitest";
import { runCode } from "../../src/interpreter/lasting/contexts.ts";
import { createGuest } from "../../src/runtime/guest/create-guest.ts";
import { PoolFiles } from "../../src/sandbox/pool/pool-files.ts";
import { createSandboxId } from "../../src/sandbox/sandbox-id.ts";
import { LOCAL, type Principal, type Sandbox } from "../../src/sandbox/sandbox.ts";
import { listed } from "../support/listed.ts";
import { openPoolLab, type PoolLab } from "../support/pool-lab.ts";
import { makeHome } from "../support/namespace-home.ts";
import { verifies } from "./verifies.ts";

const CLAIMER = resolve(import.meta.dirname, "../fixtures/pool-claimer.mjs");
const OTHER: Principal = { id: "other", name: "other" };
const soon = (): AbortSignal => AbortSignal.timeout(30_000);
const code = (sandbox: Sandbox, text: string) =>
  runCode(sandbox, { code: text, language: "python", timeoutMs: 20_000, signal: soon(), maxOutputBytes: 100_000 });
const shell = async ({ guest }: Sandbox, script: string): Promise<string> =>
  String((await guest.run({ argv: ["sh", "-c", script], user: "root", signal: soon() })).stdout);

verifies("waiting-given-once", async () => {
  await using lab = await openPoolLab();
  const [, one, other] = [await lab.open({ sandboxes: 3 }), await lab.open({}), await lab.open({})];
  const waiting = new Set(await lab.hasWaiting(3));
  // None of them has made one: each picks from the same three, before any has claimed.
  const made = await Promise.all([one, other, one, other, one, other, one, other].map((place) => place.create()));
  const ids = made.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => waiting.has(id)).length).toBeGreaterThan(0);
  expect(await Promise.all(made.map((sandbox) => shell(sandbox, "hostname")))).toEqual(ids.map((id) => `${id}\n`));
  for (const sandbox of made) await sandbox.kill();
  const next = await one.create();
  expect(ids).not.toContain(next.id);
});

verifies("waiting-given-once", async () => {
  await using home = await makeHome();
  mkdirSync(join(home.path, "sandboxes"));
  const files = new PoolFiles(home.path);
  const ids = Array.from({ length: 300 }, () => createSandboxId());
  for (const id of ids) {
    files.begin(id);
    files.offer("k", id);
  }
  const claimers = Array.from({ length: 4 }, () => fork(CLAIMER, [home.path, "k"], { stdio: ["ignore", "ignore", "inherit", "ipc"] }));
  await Promise.all(claimers.map((claimer) => once(claimer, "message")));
  const got = claimers.map(async (claimer) => ((await once(claimer, "message")) as [string[]])[0]);
  for (const claimer of claimers) claimer.send("go");
  expect((await Promise.all(got)).flat().toSorted()).toEqual(ids.toSorted());
});

verifies("waiting-unseen", async () => {
  await using lab = await openPoolLab();
  const place = await lab.open({ sandboxes: 1 });
  const [id = ""] = await lab.hasWaiting(1);
  for (const principal of [LOCAL, OTHER]) {
    expect(await listed(place.sandboxes, principal, {})).toEqual([]);
    for (const name of [id, id.slice(0, 8)])
      await expect(place.sandboxes.get(principal, name)).rejects.toMatchObject({ code: "SANDBOX_NOT_FOUND" });
  }
  await expect(place.sandboxes.getLinked(id)).rejects.toMatchObject({ code: "SANDBOX_NOT_FOUND" });
  await place.sandboxes.sweep();
  expect(lab.folders()).toContain(id);
  expect((await place.create({}, OTHER)).id).toBe(id);
  await expect(place.sandboxes.get(LOCAL, id)).rejects.toMatchObject({ code: "SANDBOX_NOT_FOUND" });
  await (await place.sandboxes.get(OTHER, id)).kill();
});

/** Whatever of its time before the owner a program could find. */
const TRACES = `
cd /; env | sort | grep -v '^_='
find / -xdev \\( -path /proc -o -path /usr -o -path /dev \\) -prune -o -newermt 2000-01-01 \\( -type f -o -type d -o -type l -o -type s \\) -printf '%p %u %m\\n' | sort
cat /proc/net/tcp /proc/net/udp /proc/net/unix | wc -l
ls /home/user -la | wc -l; ls /tmp -A | wc -l; ls /dev/shm -A | wc -l; ls /run/belljar -A
`;

verifies("waiting-unseen", async () => {
  await using lab = await openPoolLab();
  const [pool, plain] = [await lab.open({ sandboxes: 1 }), await lab.open({ version: "2" })];
  const [id] = await lab.hasWaiting(1);
  const [warm, cold] = [await pool.create(), await plain.create()];
  expect(warm.id).toBe(id);
  await code(cold, "1");
  const seen = await Promise.all(
    [warm, cold].map(async (sandbox) => (await shell(sandbox, TRACES)).replaceAll(sandbox.id, "waiting-unseen")),
  );
  expect(seen[0]).toBe(seen[1]);
  expect((await code(warm, "[name for name in globals() if not name.startswith('__')]")).values[0]?.data["text/plain"]).toBe("[]");
});

const KILLS = 12;
const FILLER = resolve(import.meta.dirname, "../fixtures/pool-filler.mjs");

/** A process of Belljar that keeps sandboxes ready, and can be killed at any moment. */
function startFiller({ home }: PoolLab): ChildProcess {
  return fork(FILLER, [home.path], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
}

async function killed(filler: ChildProcess): Promise<void> {
  filler.kill("SIGKILL");
  await once(filler, "exit");
}

async function opened({ home }: PoolLab, id: string) {
  const runtime = await home.open("auto");
  const inside = await runtime.layers.describe({ template: "base" });
  return runtime.open({ id, generation: 1, folder: join(home.path, "sandboxes", id), inside });
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

verifies(
  "waiting-ends",
  async () => {
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
  },
  240_000,
);

verifies(
  "waiting-ends",
  async () => {
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
  },
  60_000,
);

verifies(
  "waiting-ends",
  async () => {
    await using lab = await openPoolLab();
    const names = (folder: string): readonly string[] => {
      const path = join(lab.home.path, folder);
      return existsSync(path) ? readdirSync(path).filter((name) => !name.startsWith(".")) : [];
    };
    for (let turn = 0; turn < 4; turn++) {
      const filler = fork(FILLER, [lab.home.path, "packages"], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
      await once(filler, "message"); // the first of the snapshot has ended, and the next one is about to be made
      const [waits] = turn === 3 ? await lab.hasWaiting(1) : [];
      for (let at = 0; at < turn * 20; at++) await new Promise((done) => setImmediate(done));
      const running = waits === undefined ? undefined : await opened(lab, waits);
      await killed(filler);
      await running?.ended;
      const place = await lab.open({});
      const [snapshot] = await place.sandboxes.hiddenSnapshots.list();
      expect(snapshot?.name).toBe("packages-of-a-test");
      await passDeadlines(lab);
      await place.sandboxes.sweep();
      const left = names("sandboxes").filter((name) => !existsSync(join(lab.home.path, "sandboxes", name, "sandbox.json")));
      expect([names("waiting"), left]).toEqual([[], []]);
      await place.sandboxes.hiddenSnapshots.remove(snapshot?.id ?? "");
      expect([names("layers"), names("snapshots")]).toEqual([[], []]);
      await place[Symbol.asyncDispose]();
    }
  },
  240_000,
);
