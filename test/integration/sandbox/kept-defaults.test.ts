import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { FakeHost } from "../../../src/runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import type { Principal } from "../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { byName } from "../../support/by-name.ts";

const OTHER: Principal = { id: "other", name: "other" };
const LIFE_MS = 3_600_000;
const config = { sandbox: { timeoutMs: LIFE_MS }, listMax: 100, tombstoneRetentionMs: 60_000 };
const signal = new AbortController().signal;

let home: string;
let host: FakeHost;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-home-"));
  host = new Map();
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

/** One process of Belljar on the home. */
function openHome() {
  return createLocalSandboxes({ home, runtimes: byName(fakeRuntime({ host })), config });
}

it("gives a default sandbox that another process made its full lifetime again", async () => {
  await using one = openHome();
  const { sandbox } = await one.default(LOCAL, "work", {}, signal);
  await sandbox.extend(LIFE_MS / 2);
  await using two = openHome();
  expect(await two.keepDefault(LOCAL, "work")).toBe(LIFE_MS);
  expect((await sandbox.usage()).deadline?.getTime()).toBeGreaterThan(Date.now() + LIFE_MS - 60_000);
});

it("takes no time from a default sandbox that was given more", async () => {
  await using sandboxes = openHome();
  const { sandbox } = await sandboxes.default(LOCAL, "work", {}, signal);
  await sandbox.extend(9 * LIFE_MS);
  await sandboxes.keepDefault(LOCAL, "work");
  expect((await sandbox.usage()).deadline?.getTime()).toBeGreaterThan(Date.now() + 8 * LIFE_MS);
});

it("makes none, starts none that is stopped, and touches nobody else's", async () => {
  await using sandboxes = openHome();
  expect(await sandboxes.keepDefault(LOCAL, "work")).toBeUndefined();
  const { sandbox } = await sandboxes.default(LOCAL, "work", {}, signal);
  expect(await sandboxes.keepDefault(OTHER, "work")).toBeUndefined();
  await sandbox.stop();
  expect(await sandboxes.keepDefault(LOCAL, "work")).toBeUndefined();
  expect((await sandboxes.info(LOCAL, sandbox.id)).state).toBe("stopped");
  expect((await sandboxes.list(LOCAL)).sandboxes).toHaveLength(1);
});

it("names the sandbox that it made another one in place of", async () => {
  await using one = openHome();
  const first = await one.default(LOCAL, "work", {}, signal);
  expect(first.earlier).toBeUndefined();
  await first.sandbox.kill();
  await using two = openHome();
  expect(await two.default(LOCAL, "work", {}, signal)).toMatchObject({ created: true, earlier: first.sandbox.id });
  expect(await one.default(LOCAL, "work", {}, signal)).not.toHaveProperty("earlier");
});
