import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FakeHost } from "../../../src/runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import type { Runtime } from "../../../src/runtime/runtime.ts";
import { DefaultClaims } from "../../../src/sandbox/default-claims.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import { createSandboxId } from "../../../src/sandbox/sandbox-id.ts";
import type { ListFilter, Principal } from "../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { byName } from "../../support/by-name.ts";
import { listed } from "../../support/listed.ts";

const OTHER: Principal = { id: "other", name: "other" };
const DEFAULTS = { timeoutMs: 3_600_000, memoryBytes: 2 ** 25, cpus: 1, pids: 10 };
const config = { sandbox: DEFAULTS, listMax: 100, tombstoneRetentionMs: 60_000 };
const signal = new AbortController().signal;

let home: string;
let host: FakeHost;
let problems: string[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-home-"));
  host = new Map();
  problems = [];
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

/** One process of Belljar on the home; several see the same sandboxes. */
function openHome(more: { readonly runtime?: Runtime; readonly config?: Partial<typeof config>; readonly home?: string } = {}) {
  const runtime = more.runtime ?? fakeRuntime({ host, limits: ["memoryBytes", "pids"] });
  return createLocalSandboxes({
    home: more.home ?? home,
    runtimes: byName(runtime),
    config: { ...config, ...more.config },
    report: (problem) => problems.push(problem),
  });
}

function folderOf(id: string): string {
  return join(home, "sandboxes", id);
}

/** Changes the record on disk, as if another process had written it so. */
function rewriteRecord(id: string, change: Record<string, unknown>): void {
  const path = join(folderOf(id), "sandbox.json");
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, "utf8")) as object), ...change }));
}

const deadCreator = { pid: spawnSync("true").pid, startedMs: 1 };
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });

describe("create", () => {
  it("answers with a sandbox whose guest runs commands", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, { env: { GREETING: "hello" } }, signal);
    const result = await sandbox.guest.run({ argv: ["sh", "-c", "echo $GREETING"], signal });
    expect(result.stdout.toString()).toBe("hello\n");
  });

  it("has the record on disk, for the owner alone, before the runtime starts", async () => {
    const seen: unknown[] = [];
    const runtime = fakeRuntime({ host });
    const watching: Runtime = {
      ...runtime,
      create: (spec, abort) => {
        const file = join(spec.folder, "sandbox.json");
        seen.push(JSON.parse(readFileSync(file, "utf8")), statSync(spec.folder).mode & 0o777, statSync(file).mode & 0o777);
        return runtime.create(spec, abort);
      },
    };
    await using sandboxes = openHome({ runtime: watching });
    const { id } = await sandboxes.create(LOCAL, { metadata: { job: "7" } }, signal);
    expect(seen).toEqual([expect.objectContaining({ id, owner: "local", template: "base", metadata: { job: "7" } }), 0o700, 0o600]);
  });

  it("gives ids that are host-name labels", async () => {
    await using sandboxes = openHome();
    const info = await (await sandboxes.create(LOCAL, {}, signal)).info();
    expect(info.id).toMatch(/^[a-z0-9]{20}$/);
    expect(info.shortId).toBe(info.id.slice(0, 8));
  });

  it("fills limits up from the defaults and says which of them hold here", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, { limits: { memoryBytes: 2 ** 26 } }, signal);
    expect(await sandbox.info()).toMatchObject({
      state: "running",
      limits: { memoryBytes: 2 ** 26, cpus: 1, pids: 10 },
      unenforced: ["cpus"],
      network: "none",
    });
  });

  it("refuses a named limit that this host cannot enforce, and leaves nothing", async () => {
    await using sandboxes = openHome();
    await expect(sandboxes.create(LOCAL, { limits: { cpus: 2 } }, signal)).rejects.toThrow(withCode("LIMIT_UNENFORCEABLE"));
    expect(readdirSync(join(home, "sandboxes"))).toEqual([]);
  });

  it("takes the same limit as a best effort", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, { limits: { cpus: 2 }, bestEffort: true }, signal);
    expect((await sandbox.info()).limits.cpus).toBe(2);
  });

  it.each([
    ["a timeout of 0", { timeoutMs: 0 }],
    ["a negative limit", { limits: { pids: -1 } }],
    ["half a process", { limits: { pids: 9.5 } }],
    ["memory that no guest can live in", { limits: { memoryBytes: 1 } }],
    ["more processes than a kernel counts", { limits: { pids: 999_999_999 } }],
    ["a template that is a path", { template: "../base" }],
    ["an environment name with =", { env: { "A=B": "c" } }],
    ["a NUL in the environment", { env: { A: "b\0c" } }],
    ["too much metadata", { metadata: { a: "x".repeat(70_000) } }],
  ])("refuses %s", async (_, options) => {
    await using sandboxes = openHome();
    await expect(sandboxes.create(LOCAL, options, signal)).rejects.toThrow(withCode("ARGUMENTS_INVALID"));
  });

  it("lets programs filter their own calls where the local user asks for it", async () => {
    await using sandboxes = openHome();
    expect(await (await sandboxes.create(LOCAL, {}, signal)).info()).not.toHaveProperty("nestedFilters");
    const sandbox = await sandboxes.create(LOCAL, { nestedFilters: true }, signal);
    expect(await sandbox.info()).toMatchObject({ nestedFilters: true });
    const token = { id: "token", name: "token", grants: {} };
    await expect(sandboxes.create(token, { nestedFilters: true }, signal)).rejects.toThrow(
      "A caller with a token cannot ask for nestedFilters",
    );
  });

  it("has no root where its maker says so", async () => {
    await using sandboxes = openHome();
    expect(await (await sandboxes.create(LOCAL, { root: true }, signal)).info()).not.toHaveProperty("root");
    expect(await (await sandboxes.create(LOCAL, { root: false }, signal)).info()).toMatchObject({ root: false });
  });

  it("refuses a workspace that is the home itself", async () => {
    await using sandboxes = openHome();
    await expect(sandboxes.create(LOCAL, { workspace: { path: home, mode: "copy" } }, signal)).rejects.toThrow(
      withCode("WORKSPACE_INVALID"),
    );
  });

  it("leaves no sandbox behind if it cannot be noted how its workspace began", async () => {
    const runtime = fakeRuntime({ host });
    const disturbing: Runtime = {
      ...runtime,
      create: async (spec, abort) => {
        const running = await runtime.create(spec, abort);
        mkdirSync(join(spec.folder, "workspace.started"));
        return running;
      },
    };
    const work = mkdtempSync(join(tmpdir(), "belljar-work-"));
    try {
      await using sandboxes = openHome({ runtime: disturbing });
      await expect(sandboxes.create(LOCAL, { workspace: { path: work, mode: "copy" } }, signal)).rejects.toThrow(/workspace\.started/);
      const left = await listed(sandboxes, LOCAL, {});
      expect(left.map(({ state }) => state)).not.toContain("running");
    } finally {
      rmSync(work, { recursive: true });
    }
  });

  it("makes nothing for a call that was cancelled", async () => {
    await using sandboxes = openHome();
    await expect(sandboxes.create(LOCAL, {}, AbortSignal.abort())).rejects.toThrow(withCode("CANCELLED"));
    expect(readdirSync(join(home, "sandboxes"))).toEqual([]);
  });

  it("works in a home of 200 bytes", async () => {
    const long = join(home, "x".repeat(200 - home.length - 1));
    await using sandboxes = openHome({ home: long });
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    expect(await listed(sandboxes, LOCAL)).toMatchObject([{ id: sandbox.id }]);
  });
});

describe("owners", () => {
  it("answers for another owner's sandbox as for none", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    const unknown = createSandboxId();
    const messages = [];
    for (const asked of [id, unknown]) {
      const short = asked.slice(0, 8);
      for (const ask of [() => sandboxes.get(OTHER, asked), () => sandboxes.info(OTHER, asked), () => sandboxes.get(OTHER, short)]) {
        const error = await ask().catch((cause: unknown) => cause);
        expect(error).toMatchObject({ code: "SANDBOX_NOT_FOUND" });
        messages.push(String(error).replace(asked.slice(0, 8), "").replace(asked.slice(8), ""));
      }
    }
    expect(messages.slice(0, 3)).toEqual(messages.slice(3));
    expect(await listed(sandboxes, OTHER)).toEqual([]);
  });

  it("answers so for another owner's ended sandbox too", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    await sandbox.kill();
    await expect(sandboxes.get(OTHER, sandbox.id)).rejects.toThrow(withCode("SANDBOX_NOT_FOUND"));
  });

  it.each(["", "..", "../../etc", "a".repeat(500), "ABCDEFGH", "nul\0"])("knows no sandbox %j", async (id) => {
    await using sandboxes = openHome();
    await expect(sandboxes.get(LOCAL, id)).rejects.toThrow(withCode("SANDBOX_NOT_FOUND"));
  });

  /** Another sandbox on disk whose id begins as this one's. */
  function makeTwin(id: string): string {
    const twin = `${id.slice(0, 8)}${createSandboxId().slice(8)}`;
    mkdirSync(folderOf(twin));
    writeFileSync(join(folderOf(twin), "sandbox.json"), readFileSync(join(folderOf(id), "sandbox.json"), "utf8").replaceAll(id, twin));
    return twin;
  }

  it("finds a sandbox by its short id, whatever others have", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    rewriteRecord(makeTwin(id), { owner: OTHER.id });
    expect((await sandboxes.get(LOCAL, id.slice(0, 8))).id).toBe(id);
    expect((await sandboxes.info(LOCAL, id.slice(0, 8))).id).toBe(id);
  });

  it("finds a sandbox by its short id and refuses an ambiguous one", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    expect((await sandboxes.get(LOCAL, id.slice(0, 8))).id).toBe(id);
    makeTwin(id);
    await expect(sandboxes.get(LOCAL, id.slice(0, 8))).rejects.toThrow(withCode("ARGUMENTS_INVALID"));
  });
});

describe("several processes on one home", () => {
  it("uses and lists a sandbox that another process made", async () => {
    await using maker = openHome();
    await using user = openHome();
    const { id } = await maker.create(LOCAL, { env: { A: "b" } }, signal);
    const sandbox = await user.get(LOCAL, id);
    expect((await sandbox.guest.run({ argv: ["sh", "-c", "echo $A"], signal })).stdout.toString()).toBe("b\n");
    expect(await listed(user, LOCAL)).toMatchObject([{ id, state: "running" }]);
  });

  it("finds sandboxes again after the process that made them let go", async () => {
    const maker = openHome();
    const { id } = await maker.create(LOCAL, {}, signal);
    await maker[Symbol.asyncDispose]();
    await using next = openHome();
    await next.sweep();
    expect((await (await next.get(LOCAL, id)).info()).state).toBe("running");
  });

  it("sees the end that another process caused", async () => {
    await using one = openHome();
    await using two = openHome();
    const mine = await one.create(LOCAL, {}, signal);
    await (await two.get(LOCAL, mine.id)).kill();
    await expect(one.get(LOCAL, mine.id)).rejects.toThrow(withCode("SANDBOX_ENDED"));
    expect(await mine.info()).toMatchObject({ state: "ended", endReason: "killed" });
  });

  it("sees the deadline that another process moved", async () => {
    await using one = openHome();
    await using two = openHome();
    const mine = await one.create(LOCAL, {}, signal);
    await (await two.get(LOCAL, mine.id)).extend(50_000_000);
    expect((await mine.info()).deadline?.getTime()).toBeGreaterThan(Date.now() + 40_000_000);
  });

  it("does not take a sandbox for dead that another process is making", async () => {
    let started = (): void => undefined;
    const isMaking = new Promise<void>((resolve) => (started = resolve));
    let goOn = (): void => undefined;
    const mayGoOn = new Promise<void>((resolve) => (goOn = resolve));
    const runtime = fakeRuntime({ host });
    const slow: Runtime = { ...runtime, create: async (spec, abort) => (started(), await mayGoOn, runtime.create(spec, abort)) };
    await using maker = openHome({ runtime: slow });
    await using sweeper = openHome();
    const making = maker.create(LOCAL, {}, signal);
    await isMaking;
    await sweeper.sweep();
    expect(await listed(sweeper, LOCAL)).toEqual([]);
    goOn();
    const { id } = await making;
    expect(await listed(sweeper, LOCAL)).toMatchObject([{ id, state: "running" }]);
  });
});

describe("ends", () => {
  it("keeps a tombstone with the reason", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    await sandbox.kill();
    expect(await sandboxes.info(LOCAL, sandbox.id)).toMatchObject({
      state: "ended",
      endReason: "killed",
      endedAt: expect.any(Date) as Date,
    });
    await expect(sandboxes.get(LOCAL, sandbox.id)).rejects.toThrow(/ended \(killed\)/);
    expect(readdirSync(folderOf(sandbox.id)).toSorted()).toEqual(["fake-end.json", "sandbox.json", "tombstone.json"]);
  });

  it("kills twice without complaint", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    await Promise.all([sandbox.kill(), sandbox.kill()]);
    await sandbox.kill();
  });

  it("tells the deadline from a kill", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, { timeoutMs: 1 }, signal);
    await host.get(id)?.ended;
    expect(await sandboxes.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "deadline" });
  });

  it("clears a sandbox that died with nobody looking", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    rewriteRecord(id, { creator: deadCreator });
    host.clear();
    await using next = openHome();
    await next.sweep();
    expect(JSON.parse(readFileSync(join(folderOf(id), "tombstone.json"), "utf8"))).toMatchObject({ reason: "keeper_lost" });
    expect(existsSync(join(folderOf(id), "root"))).toBe(false);
  });

  it("lists it as ended even before a sweep", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    rewriteRecord(id, { creator: deadCreator });
    host.clear();
    await using next = openHome();
    expect(await listed(next, LOCAL)).toMatchObject([{ id, state: "ended", endReason: "keeper_lost" }]);
  });

  it("removes a folder that its creator left without a record", async () => {
    const id = createSandboxId();
    await using sandboxes = openHome();
    mkdirSync(join(folderOf(id), "root"), { recursive: true });
    await sandboxes.sweep();
    expect(existsSync(folderOf(id))).toBe(false);
  });

  it("removes what a creator left half written, once it is old", async () => {
    await using sandboxes = openHome();
    const old = join(home, "sandboxes", `.new-${createSandboxId()}`);
    const young = join(home, "sandboxes", `.new-${createSandboxId()}`);
    for (const path of [old, young]) mkdirSync(path);
    utimesSync(old, 1, 1);
    await sandboxes.sweep();
    expect([existsSync(old), existsSync(young)]).toEqual([false, true]);
  });

  it("forgets tombstones past their time", async () => {
    const sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    await sandbox.kill();
    await sandboxes[Symbol.asyncDispose]();
    writeFileSync(join(folderOf(sandbox.id), "tombstone.json"), JSON.stringify({ reason: "killed", at: new Date(0), isCleared: true }));
    await using next = openHome({ config: { tombstoneRetentionMs: 1000 } });
    await next.sweep();
    await expect(next.get(LOCAL, sandbox.id)).rejects.toThrow(withCode("SANDBOX_NOT_FOUND"));
    expect(existsSync(folderOf(sandbox.id))).toBe(false);
  });

  it("knows the end while the keeper still clears, and lets the next sweep finish what a killed keeper left", async () => {
    const runtime = fakeRuntime({ host });
    const cleared: string[] = [];
    const busy: Runtime = { ...runtime, clear: () => Promise.resolve(undefined) };
    const later: Runtime = { ...runtime, clear: (run) => (cleared.push(run.id), runtime.clear(run)) };
    await using maker = openHome({ runtime: busy });
    const sandbox = await maker.create(LOCAL, {}, signal);
    await sandbox.kill();
    expect(await maker.info(LOCAL, sandbox.id)).toMatchObject({ state: "ended", endReason: "killed" });
    await using next = openHome({ runtime: later });
    expect(await listed(next, LOCAL)).toMatchObject([{ id: sandbox.id, state: "ended", endReason: "killed" }]);
    expect(cleared).toEqual([]);
    for (let round = 0; round < 2; round += 1) await next.sweep();
    expect(cleared).toEqual([sandbox.id]);
  });

  it("lets its sandboxes live when it is disposed", async () => {
    const sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    await sandboxes[Symbol.asyncDispose]();
    expect(host.has(id)).toBe(true);
  });
});

describe("list", () => {
  it("filters by state and metadata, newest first", async () => {
    await using sandboxes = openHome();
    const ids: string[] = [];
    for (const job of ["a", "b", "a"]) ids.push((await sandboxes.create(LOCAL, { metadata: { job } }, signal)).id);
    ids.forEach((id, index) => rewriteRecord(id, { createdAt: new Date(Date.now() - 1000 + index) }));
    await using reader = openHome();
    await (await sandboxes.get(LOCAL, ids[2] ?? "")).kill();
    const list = async (filter: ListFilter) => (await listed(reader, LOCAL, filter)).map(({ id }) => ids.indexOf(id));
    expect(await list({})).toEqual([2, 1, 0]);
    expect(await list({ metadata: { job: "a" } })).toEqual([2, 0]);
    expect(await list({ metadata: { job: "a" }, state: ["running"] })).toEqual([0]);
    expect(await list({ metadata: { toString: "a" } })).toEqual([]);
  });

  it("answers no more entries than listMax", async () => {
    await using sandboxes = openHome({ config: { listMax: 1 } });
    for (let made = 0; made < 2; made += 1) await sandboxes.create(LOCAL, {}, signal);
    expect(await listed(sandboxes, LOCAL)).toHaveLength(1);
  });

  it.each([
    ["no JSON", "{"],
    ["of another shape", JSON.stringify({ version: 1 })],
    ["of another version", JSON.stringify({ version: 2 })],
  ])("goes on past a record that is %s, and reports it by name, once", async (_, text) => {
    await using sandboxes = openHome();
    const good = await sandboxes.create(LOCAL, {}, signal);
    const bad = createSandboxId();
    mkdirSync(folderOf(bad));
    writeFileSync(join(folderOf(bad), "sandbox.json"), text);
    for (let round = 0; round < 2; round += 1) expect(await listed(sandboxes, LOCAL)).toMatchObject([{ id: good.id }]);
    expect(problems).toEqual([expect.stringContaining(bad)]);
    await expect(sandboxes.get(LOCAL, bad)).rejects.toThrow(withCode("SANDBOX_NOT_FOUND"));
  });
});

describe("default", () => {
  it("is made on first use and found afterwards, by every process", async () => {
    await using one = openHome();
    await using two = openHome();
    const first = await one.default(LOCAL, "work", {}, signal);
    const again = await one.default(LOCAL, "work", {}, signal);
    const there = await two.default(LOCAL, "work", {}, signal);
    expect([first.created, again.created, there.created]).toEqual([true, false, false]);
    expect([again.sandbox.id, there.sandbox.id]).toEqual([first.sandbox.id, first.sandbox.id]);
    expect((await first.sandbox.info()).defaultName).toBe("work");
  });

  it("is another one for another name and another owner", async () => {
    await using sandboxes = openHome();
    const made = await Promise.all([
      sandboxes.default(LOCAL, "a", {}, signal),
      sandboxes.default(LOCAL, "b", {}, signal),
      sandboxes.default(OTHER, "a", {}, signal),
    ]);
    expect(new Set(made.map(({ sandbox }) => sandbox.id)).size).toBe(3);
  });

  it("is never another owner's sandbox, whatever the claim names", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    expect(await new DefaultClaims(home).take(OTHER.id, "default", { number: 1, id })).toBe(true);
    const { sandbox, created } = await sandboxes.default(OTHER, "default", {}, signal);
    expect(created).toBe(true);
    expect(sandbox.id).not.toBe(id);
    expect((await listed(sandboxes, LOCAL)).map((one) => one.id)).toEqual([id]);
  });

  it("is one sandbox for many that ask at once, in several processes", async () => {
    const homes = Array.from({ length: 4 }, () => openHome());
    const asked = homes.flatMap((one) => [1, 2, 3].map(() => one.default(LOCAL, "work", {}, signal)));
    const got = await Promise.all(asked);
    expect(new Set(got.map(({ sandbox }) => sandbox.id)).size).toBe(1);
    expect(got.filter(({ created }) => created)).toHaveLength(1);
    expect((await homes[0]?.list(LOCAL, { filter: { state: ["running"] } }))?.sandboxes).toHaveLength(1);
    await Promise.all(homes.map((one) => one[Symbol.asyncDispose]()));
  });

  it("is made anew when it has ended, once, however many ask", async () => {
    const homes = Array.from({ length: 3 }, () => openHome());
    const ids = new Set<string>();
    for (let round = 0; round < 5; round += 1) {
      const got = await Promise.all(homes.map((one) => one.default(LOCAL, "work", {}, signal)));
      expect(got.filter(({ created }) => created)).toHaveLength(1);
      ids.add(got[0]?.sandbox.id ?? "");
      await got[0]?.sandbox.kill();
    }
    expect(ids.size).toBe(5);
    expect(readdirSync(join(home, "defaults")).flatMap((name) => readdirSync(join(home, "defaults", name)))).toEqual(["sandbox.5.json"]);
    await Promise.all(homes.map((one) => one[Symbol.asyncDispose]()));
  });

  it("gets its full time again from a call once a tenth of it has passed", async () => {
    await using sandboxes = openHome();
    const { sandbox } = await sandboxes.default(LOCAL, "work", {}, signal);
    await sandbox.extend(3_000_000);
    await sandboxes.default(LOCAL, "work", {}, signal);
    expect((await sandbox.usage()).deadline?.getTime()).toBeGreaterThan(Date.now() + 3_500_000);
  });

  it("never loses time by a call", async () => {
    await using one = openHome();
    const { sandbox } = await one.default(LOCAL, "work", {}, signal);
    await sandbox.extend(50_000_000);
    rewriteRecord(sandbox.id, { deadline: new Date(0) });
    await using two = openHome();
    await two.default(LOCAL, "work", {}, signal);
    expect((await sandbox.usage()).deadline?.getTime()).toBeGreaterThan(Date.now() + 40_000_000);
  });

  it("refuses a caller that names another workspace", async () => {
    const [one, two] = ["one", "two"].map((name) => mkdtempSync(join(tmpdir(), `belljar-${name}-`)));
    await using sandboxes = openHome();
    await sandboxes.default(LOCAL, "work", { workspace: { path: one ?? "", mode: "copy" } }, signal);
    const other = sandboxes.default(LOCAL, "work", { workspace: { path: two ?? "", mode: "copy" } }, signal);
    await expect(other).rejects.toThrow(withCode("WORKSPACE_CONFLICT"));
    for (const path of [one, two]) rmSync(path ?? "", { recursive: true });
  });
});
