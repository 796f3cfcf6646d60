import { join } from "node:path";
import { Sandbox } from "e2b";
import { expect, it } from "vitest";
import { openE2bInside } from "../../support/e2b-inside.ts";
import { openE2bLab } from "../../support/e2b-lab.ts";
import type { E2bLab } from "../../support/e2b-lab.ts";
import { keeperOf, untilUnlocked } from "../../support/home-traces.ts";
import { runFolder } from "../../support/run-of.ts";

const isRoot = process.getuid?.() === 0;
const DAY_MS = 86_400_000;
const START = "echo kept > ~/file; sleep 900 >/dev/null 2>&1 & echo $!";

/** The status of a route that only the access token opens, which it needs in any case. */
async function planeOf(lab: E2bLab, sandbox: Sandbox): Promise<number> {
  const headers = { "x-access-token": tokenOf(sandbox), "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": "49983" };
  return (await lab.ask("/no-such-route", { headers })).status;
}

function tokenOf(sandbox: Sandbox): string {
  const { envdAccessToken } = sandbox as unknown as { readonly envdAccessToken: string };
  return envdAccessToken;
}

async function lostOf(lab: E2bLab, id: string): Promise<readonly unknown[]> {
  const connected = await lab.askAsOwner(`/v2/sandboxes/${id}/connect`, { method: "POST", body: "{}" });
  return [connected.status, ((await connected.json()) as { readonly lost?: readonly string[] }).lost];
}

/** Ends a run as a restart of the machine does: nobody is left who could say why. */
async function killKeeper(lab: E2bLab, id: string, generation: number): Promise<void> {
  const folder = join(lab.cli.home, "sandboxes", id);
  process.kill(keeperOf(folder), "SIGKILL");
  await untilUnlocked(runFolder(folder, generation));
}

it("keeps the files alone of a sandbox that is paused without its memory", async () => {
  await using lab = await openE2bLab();
  const inside = await openE2bInside(lab);
  const sandbox = await Sandbox.create({ ...lab.options, timeoutMs: 60_000 });
  const pid = await inside.run(sandbox.sandboxId, START);
  expect(await sandbox.pause({ keepMemory: false })).toBe(true);
  expect(await sandbox.pause({ keepMemory: false })).toBe(false);
  const paused = await sandbox.getInfo();
  expect(paused.state).toBe("paused");
  expect(paused.endAt.getTime()).toBeGreaterThan(Date.now() + 29 * DAY_MS);
  expect([await sandbox.isRunning(), await planeOf(lab, sandbox)]).toEqual([false, 502]);
  const refused = await lab.askAsOwner(`/sandboxes/${sandbox.sandboxId}/timeout`, { method: "POST", body: '{"timeout":1}' });
  expect([refused.status, ((await refused.json()) as { code: number }).code]).toEqual([409, 409]);
  const withMemory = await lab.askAsOwner(`/v2/sandboxes/${sandbox.sandboxId}/connect`, { method: "POST", body: '{"memory":true}' });
  expect([withMemory.status, await withMemory.json()]).toMatchObject([400, { message: expect.stringContaining("was not kept") as string }]);
  expect(await lostOf(lab, sandbox.sandboxId)).toEqual([201, [expect.stringContaining("started from its files")]]);
  expect((await sandbox.getInfo()).endAt.getTime()).toBeLessThan(Date.now() + 301_000);
  expect(await inside.run(sandbox.sandboxId, `cat ~/file; kill -0 ${pid} 2>/dev/null || echo gone`)).toBe("kept\ngone");

  // One that its deadline pauses without its memory.
  const other = await Sandbox.create({
    ...lab.options,
    timeoutMs: 600_000,
    lifecycle: { onTimeout: { action: "pause", keepMemory: false } },
  });
  expect((await other.getInfo()).lifecycle).toEqual({ onTimeout: "pause", autoResume: false });
  await other.setTimeout(1);
  await inside.until(other.sandboxId, "stopped");
  expect((await Sandbox.list({ ...lab.options, query: { state: ["paused"] } }).nextItems()).map(({ sandboxId }) => sandboxId)).toEqual([
    other.sandboxId,
  ]);
  expect(await other.kill()).toBe(true);
  await expect(Sandbox.connect(other.sandboxId, lab.options)).rejects.toThrow(/not found/);

  // One whose processes were lost.
  const { sandboxId: id } = await Sandbox.create({ ...lab.options, lifecycle: { onTimeout: { action: "pause", keepMemory: false } } });
  await inside.run(id, "echo kept > ~/file");
  await killKeeper(lab, id, 1);
  expect((await Sandbox.getInfo(id, lab.options)).state).toBe("paused");
  expect(await lostOf(lab, id)).toEqual([201, [expect.stringMatching(/started from its files.*keeper_lost/)]]);
  expect(await inside.run(id, "cat ~/file")).toBe("kept");

  // One with its memory, where this host cannot keep that.
  const outcome = await Sandbox.pause(id, lab.options).catch((cause: unknown) => String(cause));
  if (isRoot) expect(outcome).toBe(true);
  else expect([true, expect.stringMatching(/400: This host cannot freeze a sandbox.*keepMemory/)]).toContainEqual(outcome);
  if (outcome !== true) await expect(Sandbox.create({ ...lab.options, lifecycle: { onTimeout: "pause" } })).rejects.toThrow(/400: /);
});

it.skipIf(!isRoot)("resumes what was paused, as it was (skipped for an ordinary user, who has no freezer)", async () => {
  await using lab = await openE2bLab();
  const inside = await openE2bInside(lab);
  const sandbox = await Sandbox.create({ ...lab.options, timeoutMs: 60_000 });
  const id = sandbox.sandboxId;
  const pid = await inside.run(id, START);
  expect(await sandbox.pause()).toBe(true);
  expect(await sandbox.pause()).toBe(false);
  const paused = await sandbox.getInfo();
  expect([paused.state, paused.endAt.getTime() > Date.now() + 29 * DAY_MS]).toEqual(["paused", true]);
  expect([await sandbox.isRunning(), await planeOf(lab, sandbox), (await sandbox.getInfo()).state]).toEqual([false, 502, "paused"]);
  expect(await sandbox.getMetrics()).toEqual([]);
  expect((await lab.askAsOwner(`/sandboxes/${id}/fork`, { method: "POST" })).status).toBe(409);
  expect((await lab.askAsOwner(`/sandboxes/${id}/network`, { method: "PUT", body: "{}" })).status).toBe(409);
  const resumed = await lab.askAsOwner(`/sandboxes/${id}/resume`, { method: "POST", body: '{"timeout":100}' });
  expect([resumed.status, await planeOf(lab, sandbox)]).toEqual([201, 404]);
  expect((await sandbox.getInfo()).endAt.getTime()).toBeLessThan(Date.now() + 101_000);
  expect(await inside.run(id, `kill -0 ${pid} && echo alive`)).toBe("alive");
  await sandbox.pause();
  await Sandbox.connect(id, { ...lab.options, onResume: "reboot" });
  expect(await inside.run(id, `cat ~/file; kill -0 ${pid} 2>/dev/null || echo gone`)).toBe("kept\ngone");

  // What a restart of the machine leaves of a paused one.
  await sandbox.pause();
  await killKeeper(lab, id, 2);
  expect((await sandbox.getInfo()).state).toBe("paused");
  expect(await lostOf(lab, id)).toEqual([201, [expect.stringMatching(/keeper_lost/)]]);
  expect(await inside.run(id, "cat ~/file")).toBe("kept");

  // Paused by its deadline. Requests wake it if its maker wants that, and no other one.
  const lifecycle = { onTimeout: "pause" } as const;
  const [plain, waking] = await Promise.all([
    Sandbox.create({ ...lab.options, timeoutMs: 600_000, lifecycle }),
    Sandbox.create({ ...lab.options, timeoutMs: 600_000, lifecycle: { ...lifecycle, autoResume: true } }),
  ]);
  for (const one of [plain, waking]) await one.setTimeout(1);
  for (const one of [plain, waking]) await inside.until(one.sandboxId, "paused");
  expect([await waking.isRunning(), await planeOf(lab, waking), await waking.isRunning()]).toEqual([false, 404, true]);
  expect((await waking.getInfo()).endAt.getTime()).toBeGreaterThan(Date.now() + 500_000);
  expect([await planeOf(lab, plain), await plain.isRunning()]).toEqual([502, false]);
  // The next deadline pauses it again.
  await waking.setTimeout(1);
  await inside.until(waking.sandboxId, "paused");
});
