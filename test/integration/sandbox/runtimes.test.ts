import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { byName } from "../../support/by-name.ts";
import type { FakeHost } from "../../../src/runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import { lazyRuntime } from "../../../src/runtime/registry.ts";
import type { Runtime } from "../../../src/runtime/contract/runtime.ts";
import { BelljarError } from "../../../src/errors.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import type { RuntimeChoice } from "../../../src/sandbox/runtimes.ts";
import type { Grants, Principal, Quotas } from "../../../src/sandbox/sandbox.ts";
import { LIVE_STATES, LOCAL } from "../../../src/sandbox/sandbox.ts";
import { listed } from "../../support/listed.ts";

const signal = new AbortController().signal;

let home: string;
let hosts: Record<"plain" | "strong", FakeHost>;
let problems: string[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-runtimes-"));
  hosts = { plain: new Map(), strong: new Map() };
  problems = [];
});
afterEach(async () => {
  await Promise.all([...hosts.plain.values(), ...hosts.strong.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

function runtimeOf(name: "plain" | "strong"): Runtime {
  return { ...fakeRuntime({ host: hosts[name], limits: name === "strong" ? ["pids"] : [] }), name };
}

/** A process of Belljar on the home, with these runtimes. */
function openHome(names: readonly ("plain" | "strong")[], choice: RuntimeChoice = {}, quotas: Quotas = {}) {
  return createLocalSandboxes({
    home,
    runtimes: byName(...names.map(runtimeOf)),
    config: { sandbox: { timeoutMs: 600_000, pids: 64 }, listMax: 100, tombstoneRetentionMs: 60_000, ...choice },
    quotas,
    report: (problem) => problems.push(problem),
  });
}

const both = () => openHome(["plain", "strong"], { runtimes: ["strong"] });
const holder = (grants: Grants): Principal => ({ id: "token:ci", name: "ci", grants });
const withCode = (code: string, message = "") => expect.objectContaining({ code, message: expect.stringContaining(message) });

describe("several runtimes of one process", () => {
  it("makes a sandbox with the runtime that was named, else with the standard one", async () => {
    await using sandboxes = both();
    const plain = await sandboxes.create(LOCAL, {}, signal);
    const strong = await sandboxes.create(LOCAL, { runtime: "strong" }, signal);
    expect([[...hosts.plain.keys()], [...hosts.strong.keys()]]).toEqual([[plain.id], [strong.id]]);
    expect(await plain.info()).toMatchObject({ runtime: "plain", unenforced: ["pids"] });
    expect(await strong.info()).toMatchObject({ runtime: "strong", unenforced: [] });
  });

  it("tells what each of them enforces, and why one cannot be asked", async () => {
    await using sandboxes = both();
    expect(await sandboxes.isolation()).toMatchObject({ available: true, limits: [], others: [{ available: true, limits: ["pids"] }] });
    const broken = lazyRuntime("strong", () => Promise.reject(new BelljarError("RUNTIME_UNAVAILABLE", "no daemon here")));
    const config = { sandbox: { timeoutMs: 600_000 }, listMax: 100, tombstoneRetentionMs: 60_000, runtimes: ["strong"] };
    await using other = createLocalSandboxes({ home, runtimes: byName(runtimeOf("plain"), broken), config });
    const checks = [{ id: "runtime", state: "absent", detail: "no daemon here" }];
    expect(await other.isolation()).toMatchObject({ available: true, others: [{ runtime: "strong", available: false, checks }] });
    await using alone = openHome(["plain"]);
    expect(await alone.isolation()).not.toHaveProperty("others");
  });

  it("tells the templates of those that a principal may use, each name once", async () => {
    const named = (runtime: Runtime, ...names: readonly string[]): Runtime => ({
      ...runtime,
      layers: { ...runtime.layers, templates: async () => names.map((name) => ({ name, description: runtime.name })) },
    });
    const broken = lazyRuntime("broken", () => Promise.reject(new BelljarError("RUNTIME_UNAVAILABLE", "no daemon here")));
    const runtimes = byName(named(runtimeOf("plain"), "base", "own"), named(runtimeOf("strong"), "base", "large"), broken);
    const config = { sandbox: { timeoutMs: 600_000 }, listMax: 100, tombstoneRetentionMs: 60_000, runtimes: ["strong", "broken"] };
    await using sandboxes = createLocalSandboxes({ home, runtimes, config });
    const told = async (principal: Principal) =>
      (await sandboxes.templates(principal)).map(({ name, description }) => `${description}: ${name}`);
    expect(await told(LOCAL)).toEqual(["plain: base", "plain: own", "strong: large"]);
    expect(await told(holder({}))).toEqual(["plain: base", "plain: own"]);
    expect(await told(holder({ runtimes: ["strong"] }))).toEqual(["strong: base", "strong: large"]);
  });

  it("counts a sandbox whose runtime is missing against a quota, and says what to do", async () => {
    await using maker = both();
    await maker.create(LOCAL, { runtime: "strong" }, signal);
    await using plain = openHome(["plain"], {}, { sandboxes: 1 });
    await expect(plain.create(LOCAL, {}, signal)).rejects.toThrow(withCode("QUOTA_EXCEEDED", 'does not have their runtime ("strong")'));
  });

  it("has each record opened, listed and cleared by the runtime that made it", async () => {
    await using maker = both();
    const made = [await maker.create(LOCAL, {}, signal), await maker.create(LOCAL, { runtime: "strong" }, signal)];
    await using other = both();
    expect((await listed(other, LOCAL)).map(({ state }) => state)).toEqual(["running", "running"]);
    for (const { id } of made) await (await other.get(LOCAL, id)).kill();
    expect((await listed(maker, LOCAL)).map(({ endReason }) => endReason)).toEqual(["killed", "killed"]);
    expect(problems).toEqual([]);
  });

  it("refuses a runtime that there is not, and names those that there are", async () => {
    await using sandboxes = both();
    const asked = sandboxes.create(LOCAL, { runtime: "docker" }, signal);
    await expect(asked).rejects.toThrow(withCode("ARGUMENTS_INVALID", "expected one of plain, strong"));
    expect(await listed(sandboxes, LOCAL)).toEqual([]);
  });

  it("does not start with a choice that it does not have", () => {
    expect(() => openHome(["plain"], { runtime: "strong" })).toThrow(withCode("RUNTIME_UNAVAILABLE", "expected one of plain"));
    expect(() => openHome(["plain"], { runtimes: ["strong"] })).toThrow(withCode("RUNTIME_UNAVAILABLE", "expected one of plain"));
  });

  it("gives no default sandbox of another runtime than the one that was named", async () => {
    await using sandboxes = both();
    await sandboxes.default(LOCAL, "a", { runtime: "strong" }, signal);
    expect((await sandboxes.default(LOCAL, "a", {}, signal)).created).toBe(false);
    expect((await sandboxes.default(LOCAL, "a", { runtime: "strong" }, signal)).created).toBe(false);
    await expect(sandboxes.default(LOCAL, "a", { runtime: "plain" }, signal)).rejects.toThrow(withCode("ARGUMENTS_INVALID", '"strong"'));
  });
});

describe("a runtime that no create may name any more", () => {
  it("still serves, lists and ends what it made", async () => {
    await using before = both();
    const { id } = await before.create(LOCAL, { runtime: "strong" }, signal);
    await using after = openHome(["plain", "strong"]);
    await expect(after.create(LOCAL, { runtime: "strong" }, signal)).rejects.toThrow(withCode("ARGUMENTS_INVALID"));
    const sandbox = await after.get(LOCAL, id);
    expect((await sandbox.guest.run({ argv: ["echo", "hi"], signal })).stdout.toString()).toBe("hi\n");
    await sandbox.kill();
    expect(await after.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "killed" });
  });
});

describe("a record whose runtime is not here", () => {
  it("is listed with the reason, and stands in nobody's way", async () => {
    await using full = both();
    const strong = await full.create(LOCAL, { runtime: "strong" }, signal);
    await using bare = openHome(["plain"]);
    const plain = await bare.create(LOCAL, {}, signal);
    await bare.sweep();
    await bare.serveNetworks();
    const stateReason = 'this Belljar does not have its runtime "strong"';
    expect(await bare.info(LOCAL, strong.id)).toMatchObject({ state: "unresponsive", stateReason, unenforced: ["pids"] });
    for (const filter of [{}, { state: LIVE_STATES }])
      expect((await listed(bare, LOCAL, filter)).map(({ id }) => id).toSorted()).toEqual([strong.id, plain.id].toSorted());
    await expect(bare.get(LOCAL, strong.id)).rejects.toThrow(withCode("RUNTIME_UNAVAILABLE", '"strong"'));
    expect(problems).toEqual([]);
    expect(await full.info(LOCAL, strong.id)).toMatchObject({ state: "running" });
  });

  it("shows its end once that is known", async () => {
    await using full = both();
    const strong = await full.create(LOCAL, { runtime: "strong" }, signal);
    await strong.kill();
    await using bare = openHome(["plain"]);
    expect(await bare.info(LOCAL, strong.id)).toMatchObject({ state: "ended", endReason: "killed" });
  });
});

describe("a principal with grants", () => {
  it("has the standard runtime alone, unless it was granted others", async () => {
    await using sandboxes = both();
    const narrow = holder({});
    expect(await (await sandboxes.create(narrow, {}, signal)).info()).toMatchObject({ runtime: "plain" });
    await expect(sandboxes.create(narrow, { runtime: "strong" }, signal)).rejects.toThrow(withCode("FORBIDDEN", "runtime:strong"));
    const wide = holder({ runtimes: ["plain", "strong"] });
    expect(await (await sandboxes.create(wide, { runtime: "strong" }, signal)).info()).toMatchObject({ runtime: "strong" });
  });

  it("gets the runtime that it was granted when it names none", async () => {
    await using sandboxes = both();
    const strong = holder({ runtimes: ["strong"] });
    expect(await (await sandboxes.create(strong, {}, signal)).info()).toMatchObject({ runtime: "strong" });
    await expect(sandboxes.create(strong, { runtime: "plain" }, signal)).rejects.toThrow(withCode("FORBIDDEN", "runtime:plain"));
  });

  it("makes nothing when none of its runtimes is here", async () => {
    await using sandboxes = both();
    await expect(sandboxes.create(holder({ runtimes: ["docker"] }), {}, signal)).rejects.toThrow(withCode("FORBIDDEN", "runtime:plain"));
  });

  it("may end a sandbox of its owner with another runtime, and not use it", async () => {
    await using sandboxes = both();
    const { id } = await sandboxes.create(holder({ runtimes: ["strong"] }), {}, signal);
    const narrow = await sandboxes.get(holder({}), id);
    expect(() => narrow.guest.run({ argv: ["true"], signal })).toThrow(withCode("FORBIDDEN", "runtime:strong"));
    await narrow.kill();
    expect(await narrow.info()).toMatchObject({ state: "ended" });
  });
});
