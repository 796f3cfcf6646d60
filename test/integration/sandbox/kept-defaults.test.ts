import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FakeHost } from "../../../src/runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import type { Principal } from "../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { byName } from "../../support/by-name.ts";
import { createRecordedEgress } from "../../support/recorded-egress.ts";

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

/** One process of Belljar on the home, with a way out that nobody uses. */
function openHome() {
  return createLocalSandboxes({
    home,
    runtimes: byName(fakeRuntime({ host, limits: ["memoryBytes"] })),
    config,
    egress: createRecordedEgress(),
  });
}

it("gives a default sandbox that another process made its full lifetime again", async () => {
  await using one = openHome();
  const { sandbox } = await one.default(LOCAL, "work", {}, signal);
  await sandbox.extend(LIFE_MS / 2);
  await using two = openHome();
  expect(await two.keepDefault(LOCAL, "work", {})).toEqual({ lifetimeMs: LIFE_MS, unmet: [] });
  expect((await sandbox.usage()).deadline?.getTime()).toBeGreaterThan(Date.now() + LIFE_MS - 60_000);
});

it("takes no time from a default sandbox that was given more", async () => {
  await using sandboxes = openHome();
  const { sandbox } = await sandboxes.default(LOCAL, "work", {}, signal);
  await sandbox.extend(9 * LIFE_MS);
  await sandboxes.keepDefault(LOCAL, "work", {});
  expect((await sandbox.usage()).deadline?.getTime()).toBeGreaterThan(Date.now() + 8 * LIFE_MS);
});

it("makes none, starts none that is stopped, and touches nobody else's", async () => {
  await using sandboxes = openHome();
  expect(await sandboxes.keepDefault(LOCAL, "work", {})).toBeUndefined();
  const { sandbox } = await sandboxes.default(LOCAL, "work", {}, signal);
  expect(await sandboxes.keepDefault(OTHER, "work", {})).toBeUndefined();
  await sandbox.stop();
  expect(await sandboxes.keepDefault(LOCAL, "work", {})).toBeUndefined();
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

describe("what the command line says", () => {
  it("is applied to a default sandbox that another process made: its network, wider and narrower, and its lifetime", async () => {
    await using maker = openHome();
    const { sandbox } = await maker.default(LOCAL, "work", {}, signal);
    await using wide = openHome();
    expect(await wide.keepDefault(LOCAL, "work", { wishes: { network: { allow: ["a.test"] }, timeoutMs: 9 * LIFE_MS } })).toEqual({
      lifetimeMs: 9 * LIFE_MS,
      unmet: [],
    });
    expect(await sandbox.info()).toMatchObject({ network: { allow: ["a.test"] } });
    expect((await sandbox.usage()).deadline?.getTime()).toBeGreaterThan(Date.now() + 8 * LIFE_MS);
    await using narrow = openHome();
    await narrow.default(LOCAL, "work", { wishes: { network: "none", timeoutMs: LIFE_MS / 2 } }, signal);
    const info = await sandbox.info();
    expect(info.network).toBe("none");
    expect(info).not.toHaveProperty("networkCeiling");
    expect(info.deadline?.getTime()).toBeLessThan(Date.now() + LIFE_MS);
  });

  it("is applied once, so that a person's later change stays", async () => {
    await using maker = openHome();
    const { sandbox } = await maker.default(LOCAL, "work", {}, signal);
    await using later = openHome();
    const options = { wishes: { network: { allow: ["a.test"] } } };
    await later.default(LOCAL, "work", options, signal);
    await sandbox.setNetwork({ allow: ["b.test"] });
    await later.default(LOCAL, "work", options, signal);
    await later.keepDefault(LOCAL, "work", options);
    expect(await sandbox.info()).toMatchObject({ network: { allow: ["b.test"] } });
  });

  it("is said to be unmet where it cannot be applied, with what to do, each time that it is asked for", async () => {
    await using maker = openHome();
    const { sandbox } = await maker.default(LOCAL, "work", { limits: { memoryBytes: 2 ** 30 } }, signal);
    await using later = openHome();
    const wishes = { limits: { memoryBytes: 2 ** 31, cpus: 1 } };
    for (let time = 0; time < 2; time += 1) {
      const { unmet } = await later.default(LOCAL, "work", { wishes }, signal);
      expect(unmet).toEqual([expect.stringContaining("memory of 1024 MiB, not 2048 MiB; CPU cores: no limit, not 1 as asked for now")]);
      expect(unmet?.[0]).toContain(`belljar sandbox kill ${sandbox.id.slice(0, 8)}`);
    }
    const same = await later.default(LOCAL, "other", { limits: { memoryBytes: 2 ** 30 }, wishes }, signal);
    expect(same).toMatchObject({ created: true, unmet: [] });
    expect(await later.default(LOCAL, "other", { wishes }, signal)).toMatchObject({ created: false, unmet: [] });
  });

  it("changes nothing at the call of a token, beside which another one of its owner works", async () => {
    await using maker = openHome();
    const wide: Principal = { id: "ada", name: "ada", grants: { network: { allow: ["a.test"] } } };
    const narrow: Principal = { id: "ada", name: "ada", grants: { network: "none" } };
    const { sandbox } = await maker.default(wide, "work", { network: { allow: ["a.test"] } }, signal);
    await using later = openHome();
    const options = { wishes: { network: "all" as const, timeoutMs: 2 * LIFE_MS } };
    const before = await sandbox.info();
    expect(before.network).toEqual({ allow: ["a.test"] });
    await later.default(narrow, "work", options, signal).catch(() => undefined);
    await later.default(wide, "work", options, signal);
    await later.keepDefault(wide, "work", options);
    expect(await sandbox.info()).toMatchObject({ network: before.network });
    expect(await sandbox.info()).not.toHaveProperty("networkCeiling");
  });
});
