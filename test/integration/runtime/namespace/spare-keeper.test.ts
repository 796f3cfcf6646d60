import { existsSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { createSandbox, run } from "../../../contract/contract-sandbox.ts";
import { childrenOf, keeperOf, programOf } from "../../../support/home-traces.ts";
import { makeHome } from "../../../support/namespace-home.ts";
import type { Runtime } from "../../../../src/runtime/runtime.ts";

const TIMEOUT = { timeout: 30_000 };

/** The process that starts the runtime's keepers, and the keeper that waits for the next sandbox. */
async function startSpare(runtime: Runtime): Promise<{ readonly spawner: number; readonly spare: number }> {
  const before = spawners();
  await using first = await createSandbox(async () => runtime);
  const spawner = spawners().find((pid) => !before.includes(pid)) ?? Number.NaN;
  const keeper = keeperOf(first.spec.folder);
  const spareOf = (): number | undefined => childrenOf(spawner).find((pid) => pid !== keeper);
  await vi.waitUntil(() => spareOf() !== undefined, TIMEOUT);
  return { spawner, spare: spareOf() ?? Number.NaN };
}

function spawners(): readonly number[] {
  return childrenOf(process.pid).filter((pid) => programOf(pid).endsWith(" spawner "));
}

it("the next sandbox is made by the keeper that was started ahead", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  const { spare } = await startSpare(runtime);
  await using sandbox = await createSandbox(async () => runtime);
  expect(keeperOf(sandbox.spec.folder)).toBe(spare);
  expect((await run(sandbox.guest, "exit 5")).exitCode).toBe(5);
});

it("a sandbox is made though the keeper that was started ahead was killed", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  const { spare } = await startSpare(runtime);
  process.kill(spare, "SIGKILL");
  await vi.waitUntil(() => !existsSync(`/proc/${spare}`), TIMEOUT);
  await using sandbox = await createSandbox(async () => runtime);
  expect((await run(sandbox.guest, "exit 5")).exitCode).toBe(5);
});

it("the keeper that was started ahead ends with the process that starts keepers, and the next sandbox has another one", async () => {
  await using home = await makeHome();
  const runtime = await home.open("home");
  const { spawner, spare } = await startSpare(runtime);
  process.kill(spawner, "SIGKILL");
  await vi.waitUntil(() => !existsSync(`/proc/${spare}`), TIMEOUT);
  await vi.waitUntil(() => !existsSync(`/proc/${spawner}`), TIMEOUT);
  await using sandbox = await createSandbox(async () => runtime);
  expect((await run(sandbox.guest, "exit 5")).exitCode).toBe(5);
});
