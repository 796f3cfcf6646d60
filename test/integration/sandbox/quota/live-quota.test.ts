import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fakeRuntime } from "../../../../src/runtime/fake/fake-runtime.ts";
import type { FakeHost } from "../../../../src/runtime/fake/fake-runtime.ts";
import type { Runtime } from "../../../../src/runtime/contract/runtime.ts";
import type { Limits } from "../../../../src/runtime/contract/sandbox-spec.ts";
import { createLocalSandboxes } from "../../../../src/sandbox/local-sandboxes.ts";
import type { Grants, Principal, Quotas } from "../../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { QuotaTickets } from "../../../../src/sandbox/quota/quota-tickets.ts";
import { byName } from "../../../support/by-name.ts";
import { listed } from "../../../support/listed.ts";

const MIB = 2 ** 20;
const signal = new AbortController().signal;
const NAMES: readonly (keyof Limits)[] = ["memoryBytes", "cpus", "pids", "diskBytes", "openFiles"];

let home: string;
let host: FakeHost;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bj-quota-"));
  host = new Map();
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

/** One process of Belljar on the home. */
function openHome({
  runtime = fakeRuntime({ host, limits: NAMES }),
  ...more
}: { readonly quotas?: Quotas; readonly runtime?: Runtime } = {}) {
  const sandbox = { timeoutMs: 600_000, memoryBytes: 64 * MIB, pids: 100 };
  const config = { sandbox, listMax: 100, tombstoneRetentionMs: 60_000 };
  return createLocalSandboxes({ home, runtimes: byName(runtime), config, ...more });
}

const holder = (grants: Grants, name = "ci"): Principal => ({ id: `token:${name}`, name, grants });
const limited = (quotas: Quotas): Principal => holder({ quotas });
const refused = (message: RegExp) => expect.objectContaining({ code: "QUOTA_EXCEEDED", message: expect.stringMatching(message) });

/** The runtime, in whose accounts each sandbox has used so much. */
function usingCpu(cpuUs: number): Runtime {
  const runtime = fakeRuntime({ host, limits: NAMES });
  const withCpu = <Running extends { usage(): Promise<object> }>(running: Running): Running => ({
    ...running,
    usage: async () => ({ ...(await running.usage()), cpuUs }),
  });
  return {
    ...runtime,
    create: async (spec, abort) => withCpu(await runtime.create(spec, abort)),
    open: async (run) => {
      const running = await runtime.open(run);
      return running && withCpu(running);
    },
  };
}

/** As if the process that made it had died long ago. */
function forgetMaker(id: string): void {
  const path = join(home, "sandboxes", id, "sandbox.json");
  const creator = { pid: spawnSync("true").pid, startedMs: 1 };
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, "utf8")) as object), creator }));
}

describe("a quota of live sandboxes", () => {
  it("refuses one more with the quota, its value and when to try again", async () => {
    await using sandboxes = openHome();
    const two = limited({ sandboxes: 2 });
    const first = await sandboxes.create(two, { timeoutMs: 60_000 }, signal);
    await sandboxes.create(two, {}, signal);
    const refusal = await sandboxes.create(two, {}, signal).catch((error: unknown) => error);
    const { deadline } = await first.info();
    expect(refusal).toEqual(refused(/quota of 2 sandboxes that live at once.*2 live or are just being made.*try again at/));
    expect(String(refusal)).toContain(deadline?.toISOString());
    expect(refusal).toMatchObject({ retryAfterMs: expect.closeTo(60_000, -4) });
    await first.kill();
    await sandboxes.create(two, {}, signal);
    expect(await listed(sandboxes, two, { state: ["running"] })).toHaveLength(2);
  });

  it("leaves nothing of a refused one", async () => {
    await using sandboxes = openHome();
    const one = limited({ sandboxes: 1 });
    const { id } = await sandboxes.create(one, {}, signal);
    await expect(sandboxes.create(one, {}, signal)).rejects.toEqual(refused(/1 live/));
    expect(await readdir(join(home, "sandboxes"))).toEqual([id]);
  });

  it("holds for processes that share the home and create at the same moment", async () => {
    await using one = openHome();
    await using two = openHome();
    await using three = openHome();
    const few = limited({ sandboxes: 3 });
    const wishes = [one, two, three, one, two, three, one, two, three].map((sandboxes) => sandboxes.create(few, {}, signal));
    const made = (await Promise.allSettled(wishes)).filter(({ status }) => status === "fulfilled");
    expect(made).toHaveLength(3);
    expect(host.size).toBe(3);
  });

  it("counts default sandboxes, and those of another token of that name", async () => {
    await using sandboxes = openHome();
    const one = limited({ sandboxes: 1 });
    await sandboxes.create(holder({}), {}, signal);
    await expect(sandboxes.default(one, "default", {}, signal)).rejects.toEqual(refused(/1 live/));
    await sandboxes.create(holder({ quotas: { sandboxes: 1 } }, "other"), {}, signal);
  });

  it("gives a default sandbox that lives, however full it is", async () => {
    await using sandboxes = openHome();
    const one = limited({ sandboxes: 1 });
    const { sandbox } = await sandboxes.default(one, "default", {}, signal);
    expect(await sandboxes.default(one, "default", {}, signal)).toMatchObject({ created: false, sandbox: { id: sandbox.id } });
  });

  it("does not count one that ended unseen", async () => {
    await using maker = openHome();
    const one = limited({ sandboxes: 1 });
    const { id } = await maker.create(one, {}, signal);
    await maker[Symbol.asyncDispose]();
    await host.get(id)?.finish("deadline");
    forgetMaker(id);
    await using later = openHome();
    await later.create(one, {}, signal);
  });

  it("has room again after a create that failed", async () => {
    await using sandboxes = openHome();
    const one = limited({ sandboxes: 1 });
    await expect(sandboxes.create(one, { template: "none" }, signal)).rejects.toMatchObject({ code: "TEMPLATE_NOT_FOUND" });
    await sandboxes.create(one, {}, signal);
  });

  it("holds from the configuration for whoever names none", async () => {
    await using sandboxes = openHome({ quotas: { sandboxes: 1 } });
    await sandboxes.create(LOCAL, {}, signal);
    await expect(sandboxes.create(LOCAL, {}, signal)).rejects.toEqual(refused(/quota of 1 /));
    const two = limited({ sandboxes: 2 });
    await sandboxes.create(two, {}, signal);
    await sandboxes.create(two, {}, signal);
  });
});

it("bounds the memory of all live sandboxes, by their limits", async () => {
  await using sandboxes = openHome();
  const small = limited({ memoryBytes: 150 * MIB });
  await sandboxes.create(small, { limits: { memoryBytes: 100 * MIB } }, signal);
  await expect(sandboxes.create(small, {}, signal)).rejects.toEqual(refused(/150 MiB of memory.*100 MiB are given, this one wants 64 MiB/));
  await sandboxes.create(small, { limits: { memoryBytes: 50 * MIB } }, signal);
  await expect(sandboxes.create(small, { limits: { memoryBytes: 200 * MIB } }, signal)).rejects.toEqual(refused(/name a smaller limit/));
});

it("bounds the CPU time of live sandboxes", async () => {
  await using sandboxes = openHome({ runtime: usingCpu(6_000_000) });
  const ten = limited({ cpuSeconds: 10 });
  await sandboxes.create(ten, {}, signal);
  const second = await sandboxes.create(ten, {}, signal);
  await expect(sandboxes.create(ten, {}, signal)).rejects.toEqual(refused(/10 CPU seconds.*12 are used/));
  await second.kill();
  await sandboxes.create(ten, {}, signal);
});

describe("the most that one sandbox may have", () => {
  const most = holder({ limits: { memoryBytes: 32 * MIB, cpus: 1 } });

  it("cuts the defaults", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(most, {}, signal);
    expect((await sandbox.info()).limits).toEqual({ memoryBytes: 32 * MIB, cpus: 1, pids: 100 });
    const { sandbox: standard } = await sandboxes.default(most, "default", {}, signal);
    expect((await standard.info()).limits).toMatchObject({ memoryBytes: 32 * MIB });
  });

  it("refuses a larger wish with the value", async () => {
    await using sandboxes = openHome();
    const wish = { limits: { memoryBytes: 33 * MIB }, bestEffort: true };
    const message = expect.stringContaining(String(32 * MIB));
    await expect(sandboxes.create(most, wish, signal)).rejects.toMatchObject({ code: "FORBIDDEN", message });
    await sandboxes.create(most, { limits: { memoryBytes: 32 * MIB } }, signal);
  });

  it("makes no sandbox where the host cannot enforce it, whatever the caller says", async () => {
    await using sandboxes = openHome({ runtime: fakeRuntime({ host, limits: ["pids"] }) });
    await expect(sandboxes.create(most, { bestEffort: true }, signal)).rejects.toMatchObject({ code: "LIMIT_UNENFORCEABLE" });
  });

  it("is no more than all its sandboxes may have together", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(limited({ memoryBytes: 40 * MIB }), {}, signal);
    expect((await sandbox.info()).limits.memoryBytes).toBe(40 * MIB);
  });
});

describe("tickets", () => {
  const text = { id: "a".repeat(20), creator: { pid: 1, startedMs: 1 }, createdAt: new Date(), memoryBytes: 0 };

  it("give each taker a number of its own, above all before", async () => {
    const takers = [new QuotaTickets(home), new QuotaTickets(home)];
    const numbers = await Promise.all(Array.from({ length: 40 }, async (_, at) => takers[at % 2]?.take("ci", text)));
    expect(new Set(numbers).size).toBe(40);
    expect(await takers[0]?.take("ci", text)).toBe(41);
  });

  it("do not pile up, and never free the latest numbers", async () => {
    const tickets = new QuotaTickets(home);
    for (let count = 0; count < 40; count += 1) await tickets.withdraw("ci", await tickets.take("ci", text));
    await tickets.forget("ci", () => false);
    expect(await tickets.list("ci")).toEqual([]);
    expect(await tickets.take("ci", text)).toBe(41);
  });
});
