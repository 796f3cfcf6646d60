import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { byName } from "../../test/support/by-name.ts";
import { type FakeHost, fakeRuntime } from "../runtime/fake/fake-runtime.ts";
import { createLocalSandboxes } from "./local-sandboxes.ts";
import { LOCAL, type Sandbox } from "./sandbox.ts";

const { signal } = new AbortController();
const HOUR_MS = 3_600_000;

let home: string;
let host: FakeHost;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bj-local-"));
  host = new Map();
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

function openHome() {
  const config = { sandbox: { timeoutMs: HOUR_MS }, listMax: 10, tombstoneRetentionMs: HOUR_MS };
  return createLocalSandboxes({ home, runtimes: byName(fakeRuntime({ host })), config });
}

const leftOf = async (sandbox: Sandbox) => ((await sandbox.info()).deadline?.getTime() ?? 0) - Date.now();

it.each([
  ["pause", "deadline", HOUR_MS],
  ["pause", "idle", 60_000],
  ["pause", "asked", 60_000],
  ["stop", "asked", 60_000],
  ["kill", "asked", 60_000],
] as const)("wakes a sandbox whose deadline does %s, and that was paused for %s, with so much time", async (action, reason, leftMs) => {
  await using sandboxes = openHome();
  const sandbox = await sandboxes.create(LOCAL, {}, signal);
  await sandbox.extend(60_000, action);
  host.get(sandbox.id)?.pause(reason);
  expect((await sandbox.info()).state).toBe("paused");
  expect((await sandbox.guest.run({ argv: ["true"], signal })).exitCode).toBe(0);
  expect((await sandbox.info()).state).toBe("running");
  const left = await leftOf(sandbox);
  expect(left).toBeLessThanOrEqual(leftMs);
  expect(left).toBeGreaterThan(leftMs / 2);
});

it("gives a default sandbox that is used its full time again, and never less than it has", async () => {
  await using sandboxes = openHome();
  const use = async () => (await sandboxes.default(LOCAL, "main", {}, signal)).sandbox;
  const sandbox = await use();
  await sandbox.extend(60_000);
  expect(await leftOf(await use())).toBeGreaterThan(HOUR_MS / 2);
  await sandbox.extend(5 * HOUR_MS);
  expect(await leftOf(await use())).toBeGreaterThan(4 * HOUR_MS);
});

it("tells of one that has ended why, by its id and by a link to it", async () => {
  await using sandboxes = openHome();
  const sandbox = await sandboxes.create(LOCAL, {}, signal);
  await sandbox.kill();
  const ended = expect.objectContaining({ code: "SANDBOX_ENDED", message: expect.stringContaining("killed") as string }) as Error;
  await expect(sandboxes.get(LOCAL, sandbox.id)).rejects.toThrow(ended);
  await expect(sandboxes.getLinked(sandbox.id)).rejects.toThrow(ended);
  const unknown = expect.objectContaining({ code: "SANDBOX_NOT_FOUND" }) as Error;
  for (const id of ["b".repeat(20), sandbox.id.slice(0, 8), "../x"]) await expect(sandboxes.getLinked(id)).rejects.toThrow(unknown);
});
