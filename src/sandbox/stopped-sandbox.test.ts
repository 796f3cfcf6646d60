import { spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { byName } from "../../test/support/by-name.ts";
import { listed } from "../../test/support/listed.ts";
import { createRecordedEgress, type RecordedEgress } from "../../test/support/recorded-egress.ts";
import type { FakeHost } from "../runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../runtime/fake/fake-runtime.ts";
import { BelljarError } from "../errors.ts";
import type { Run, SandboxEnd } from "../runtime/contract/run.ts";
import type { Runtime } from "../runtime/contract/runtime.ts";
import type { LocalSandboxes, LocalSandboxesOptions } from "./local-sandboxes-options.ts";
import { createLocalSandboxes } from "./local-sandboxes.ts";
import type { Principal, Sandbox } from "./sandbox.ts";
import { LIVE_STATES, LOCAL } from "./sandbox.ts";

const config = { sandbox: { timeoutMs: 3_600_000 }, listMax: 100, tombstoneRetentionMs: 60_000 };
const signal = new AbortController().signal;
const NPM = { allow: ["npm"] };
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });

let home: string;
let host: FakeHost;
let problems: string[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-stop-"));
  host = new Map();
  problems = [];
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

/** One process of Belljar on the home. */
function openHome(more: Partial<LocalSandboxesOptions> = {}): LocalSandboxes {
  return createLocalSandboxes({
    home,
    runtimes: byName(fakeRuntime({ host })),
    config,
    report: (problem) => problems.push(problem),
    ...more,
  });
}

async function inside(sandbox: Sandbox, script: string): Promise<string> {
  return (await sandbox.guest.run({ argv: ["sh", "-c", script], signal })).stdout.toString();
}

/** A stopped sandbox with a file in it. */
async function makeStopped(sandboxes: LocalSandboxes, principal: Principal = LOCAL): Promise<string> {
  const sandbox = await sandboxes.create(principal, {}, signal);
  await inside(sandbox, "echo kept > file");
  await sandbox.stop();
  return sandbox.id;
}

async function makeStoppedWithNetwork(egress: RecordedEgress): Promise<string> {
  await using sandboxes = openHome({ egress });
  const sandbox = await sandboxes.create(LOCAL, {}, signal);
  await sandbox.setNetwork(NPM);
  await inside(sandbox, "echo kept > file");
  await sandbox.stop();
  return sandbox.id;
}

function removeStates(folder: string): void {
  for (const name of readdirSync(folder)) if (name.startsWith("state.")) rmSync(join(folder, name));
}

/** Rewrites the state of the present run as if its starter had died. */
function forgetStarter(id: string): void {
  const folder = join(home, "sandboxes", id);
  const name = readdirSync(folder).find((one) => one.startsWith("state.")) ?? "";
  const state = JSON.parse(readFileSync(join(folder, name), "utf8")) as object;
  writeFileSync(join(folder, name), JSON.stringify({ ...state, creator: { pid: spawnSync("true").pid, startedMs: 1 } }));
}

describe("a stopped sandbox", () => {
  it("is shown as stopped by every process, and does nothing else", async () => {
    await using one = openHome();
    const id = await makeStopped(one);
    for (const sandboxes of [one, openHome()]) {
      expect(await sandboxes.info(LOCAL, id)).toMatchObject({ state: "stopped", endReason: "stopped", endedAt: expect.any(Date) });
      expect(await listed(sandboxes, LOCAL, { state: LIVE_STATES })).toMatchObject([{ id, state: "stopped" }]);
      const sandbox = await sandboxes.get(LOCAL, id);
      expect(() => sandbox.guest.run({ argv: ["true"], signal })).toThrow(withCode("SANDBOX_STOPPED"));
      for (const refused of [sandbox.usage(), sandbox.extend(1_000), sandbox.ports(), sandbox.connect(signal), sandbox.environment()])
        await expect(refused).rejects.toThrow(withCode("SANDBOX_STOPPED"));
      await sandbox.stop();
    }
    expect(one.liveCount()).toBe(0);
  });

  it("is started again with its files, and by another process too", async () => {
    await using one = openHome();
    const id = await makeStopped(one);
    for (const sandboxes of [one, openHome()]) {
      const sandbox = await (await sandboxes.get(LOCAL, id)).start(signal);
      expect(sandbox.id).toBe(id);
      expect(await inside(sandbox, "cat file")).toBe("kept\n");
      expect(await sandboxes.info(LOCAL, id)).toMatchObject({ state: "running" });
      await sandbox.stop();
    }
  });

  it("has its full time again", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    await sandbox.extend(1_000);
    await sandbox.stop();
    await (await sandboxes.get(LOCAL, sandbox.id)).start(signal);
    expect((await sandboxes.info(LOCAL, sandbox.id)).deadline?.getTime()).toBeGreaterThan(Date.now() + 3_500_000);
  });

  it("is started once by all who start it at once", async () => {
    await using one = openHome();
    await using other = openHome();
    const id = await makeStopped(one);
    const handles = await Promise.all([one, other, one, other].map((sandboxes) => sandboxes.get(LOCAL, id)));
    const started = await Promise.allSettled(handles.map((sandbox) => sandbox.start(signal)));
    // Who comes while the first one still starts it may be told to try again.
    expect(started.some(({ status }) => status === "fulfilled")).toBe(true);
    const refusals = started.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    expect(refusals).toEqual(refusals.map(() => withCode("RUNTIME_UNAVAILABLE")));
    expect(host.get(id)?.generation).toBe(2);
  });

  it("stays stopped when it cannot be started, and can be started later", async () => {
    await using one = openHome();
    const id = await makeStopped(one);
    const broken: Runtime = { ...fakeRuntime({ host }), create: () => Promise.reject(new BelljarError("RUNTIME_FAILED", "not today")) };
    await using other = openHome({ runtimes: byName(broken) });
    await expect((await other.get(LOCAL, id)).start(signal)).rejects.toThrow("not today");
    await expect((await one.get(LOCAL, id)).start(AbortSignal.abort())).rejects.toThrow(withCode("CANCELLED"));
    expect(await one.info(LOCAL, id)).toMatchObject({ state: "stopped", endReason: "stopped" });
    expect(await inside(await (await one.get(LOCAL, id)).start(signal), "cat file")).toBe("kept\n");
  });

  it("is deleted by a kill, with its files, and started no more", async () => {
    await using sandboxes = openHome();
    const id = await makeStopped(sandboxes);
    const [one, other] = [await sandboxes.get(LOCAL, id), await sandboxes.get(LOCAL, id)];
    await one.kill();
    expect(await sandboxes.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "killed" });
    await expect(other.start(signal)).rejects.toThrow(withCode("SANDBOX_ENDED"));
    expect(readdirSync(join(home, "sandboxes", id))).not.toContain("root");
  });

  it("was not stopped, says the stop, when a kill came with it", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    const run = host.get(sandbox.id);
    const [stopped] = await Promise.allSettled([sandbox.stop(), run?.finish("killed")]);
    expect(stopped).toMatchObject({ status: "rejected", reason: { code: "SANDBOX_ENDED" } });
    expect(await sandboxes.info(LOCAL, sandbox.id)).toMatchObject({ state: "ended" });
  });

  it("is deleted though the process that deleted it was killed in the middle", async () => {
    await using one = openHome();
    const id = await makeStopped(one);
    const runtime = fakeRuntime({ host });
    const stuck: Runtime = { ...runtime, layers: { ...runtime.layers, remove: () => Promise.reject(new Error("killed here")) } };
    await using other = openHome({ runtimes: byName(stuck) });
    await (await other.get(LOCAL, id)).kill();
    await expect(one.get(LOCAL, id)).rejects.toThrow(withCode("SANDBOX_ENDED"));
    await one.sweep();
    expect(await one.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "killed" });
    expect(readdirSync(join(home, "sandboxes", id))).not.toContain("root");
  });

  it("is left alone by every sweep", async () => {
    await using sandboxes = openHome({ config: { ...config, tombstoneRetentionMs: 0 } });
    const id = await makeStopped(sandboxes);
    await sandboxes.sweep();
    await using next = openHome({ config: { ...config, tombstoneRetentionMs: 0 } });
    await next.sweep();
    expect(await inside(await (await next.get(LOCAL, id)).start(signal), "cat file")).toBe("kept\n");
    expect(problems).toEqual([]);
  });

  it("that nobody noted is found by the end of its run", async () => {
    await using maker = openHome();
    const sandbox = await maker.create(LOCAL, {}, signal);
    await maker[Symbol.asyncDispose](); // this process hears of nothing any more
    const path = join(home, "sandboxes", sandbox.id, "sandbox.json");
    const record = JSON.parse(readFileSync(path, "utf8")) as object;
    writeFileSync(path, JSON.stringify({ ...record, creator: { pid: spawnSync("true").pid, startedMs: 1 } }));
    await host.get(sandbox.id)?.stop("deadline");
    await using sandboxes = openHome();
    expect(await sandboxes.info(LOCAL, sandbox.id)).toMatchObject({ state: "stopped", endReason: "deadline" });
    await (await sandboxes.get(LOCAL, sandbox.id)).start(signal);
  });

  it("does not count against a quota, and a start does", async () => {
    await using sandboxes = openHome({ quotas: { sandboxes: 1 } });
    const id = await makeStopped(sandboxes);
    const second = await sandboxes.create(LOCAL, {}, signal);
    await expect((await sandboxes.get(LOCAL, id)).start(signal)).rejects.toThrow(withCode("QUOTA_EXCEEDED"));
    await second.kill();
    expect(await inside(await (await sandboxes.get(LOCAL, id)).start(signal), "cat file")).toBe("kept\n");
  });

  it("counts against the quota of stopped ones, which refuses a create and nothing else", async () => {
    await using sandboxes = openHome({ quotas: { stoppedSandboxes: 2 } });
    const last = await sandboxes.create(LOCAL, {}, signal);
    const [first, second] = [await makeStopped(sandboxes), await makeStopped(sandboxes)];
    await expect(sandboxes.create(LOCAL, {}, signal)).rejects.toThrow(withCode("QUOTA_EXCEEDED"));
    await last.stop();
    await (await sandboxes.get(LOCAL, first)).start(signal);
    await expect(sandboxes.create(LOCAL, {}, signal)).rejects.toThrow(withCode("QUOTA_EXCEEDED"));
    await (await sandboxes.get(LOCAL, second)).kill();
    await sandboxes.create(LOCAL, {}, signal);
  });

  it("is another owner's unknown sandbox", async () => {
    await using sandboxes = openHome();
    const id = await makeStopped(sandboxes);
    await expect(sandboxes.get({ id: "other", name: "other" }, id)).rejects.toThrow(withCode("SANDBOX_NOT_FOUND"));
  });

  it("that is a default one is started by its next call", async () => {
    await using sandboxes = openHome();
    const { sandbox } = await sandboxes.default(LOCAL, "work", {}, signal);
    await inside(sandbox, "echo kept > file");
    await sandbox.stop();
    const again = await sandboxes.default(LOCAL, "work", {}, signal);
    expect(again).toMatchObject({ created: false, sandbox: { id: sandbox.id } });
    expect(await inside(again.sandbox, "cat file")).toBe("kept\n");
  });

  it("with a damaged state is neither started nor deleted", async () => {
    await using sandboxes = openHome();
    const id = await makeStopped(sandboxes);
    writeFileSync(join(home, "sandboxes", id, "state.9.json"), "{");
    await expect(sandboxes.get(LOCAL, id)).rejects.toThrow(withCode("FILE_IO"));
    await sandboxes.sweep();
    expect(problems.join()).toContain("damaged");
    expect(readdirSync(join(home, "sandboxes", id))).toContain("root");
  });
});

describe("a stopped sandbox whose record is corrupt", () => {
  const states: readonly [string, (folder: string) => void][] = [
    ["a stop that its state alone tells of", (folder) => rmSync(join(folder, "fake-end.json"))],
    ["a stop that nobody noted", (folder) => removeStates(folder)],
    ["a damaged state", (folder) => writeFileSync(join(folder, "state.9.json"), "{")],
  ];
  it.each(states)("keeps its files and its network through every sweep, with %s", async (_title, damage) => {
    const egress = createRecordedEgress();
    const id = await makeStoppedWithNetwork(egress);
    const folder = join(home, "sandboxes", id);
    const record = readFileSync(join(folder, "sandbox.json"));
    const states = readdirSync(folder).filter((name) => name.startsWith("state."));
    const kept = states.map((name) => [name, readFileSync(join(folder, name))] as const);
    writeFileSync(join(folder, "sandbox.json"), "{");
    damage(folder);
    await using sweeper = openHome({ egress, config: { ...config, tombstoneRetentionMs: 0 } });
    await sweeper.sweep();
    await sweeper.sweep();
    expect(problems.join()).toMatch(/corrupt.*(record is lost|damaged)/);
    removeStates(folder);
    for (const [name, text] of kept) writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, "sandbox.json"), record);
    await using next = openHome({ egress });
    const sandbox = await (await next.get(LOCAL, id)).start(signal);
    expect(await inside(sandbox, "cat file")).toBe("kept\n");
    expect((await sandbox.info()).network).toEqual(NPM);
  });
});

describe("a later run", () => {
  it("has the limits that the first one had to have, or there is none", async () => {
    const limits = ["pids"] as const;
    await using able = openHome({ runtimes: byName(fakeRuntime({ host, limits })) });
    const sandbox = await able.create(LOCAL, { limits: { pids: 100 } }, signal);
    await sandbox.stop();
    await using unable = openHome();
    await expect((await unable.get(LOCAL, sandbox.id)).start(signal)).rejects.toThrow(withCode("LIMIT_UNENFORCEABLE"));
    expect(await able.info(LOCAL, sandbox.id)).toMatchObject({ state: "stopped", endReason: "stopped" });
    await (await able.get(LOCAL, sandbox.id)).start(signal);
  });

  it.each(["host_lost", "out_of_memory", "exited"] as const)("that ended by %s and kept its files says so", async (reason) => {
    const runtime = fakeRuntime({ host });
    const clear = async (run: Run): Promise<SandboxEnd | undefined> => (await runtime.clear(run)) && { reason, at: new Date(), kept: true };
    await using maker = openHome();
    const id = await makeStopped(maker);
    await (await maker.get(LOCAL, id)).start(signal);
    await maker[Symbol.asyncDispose]();
    forgetStarter(id);
    host.delete(id);
    await using finder = openHome({ runtimes: byName({ ...runtime, clear }) });
    for (const sandboxes of [finder, openHome()])
      expect(await sandboxes.info(LOCAL, id)).toMatchObject({ state: "stopped", endReason: reason });
  });
});

describe("a deadline", () => {
  it("that moves writes nothing to the disk, and a new action for it is written once", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    const states = (): string[] => readdirSync(join(home, "sandboxes", sandbox.id)).filter((name) => name.startsWith("state."));
    await sandbox.extend(1_000_000);
    expect(states()).toEqual([]);
    for (const ms of [2_000_000, 3_000_000]) await sandbox.extend(ms, "stop");
    expect(states()).toEqual(["state.1.json"]);
    await sandbox.stop();
    await (await sandboxes.get(LOCAL, sandbox.id)).start(signal);
    expect(await (await sandboxes.get(LOCAL, sandbox.id)).usage()).toMatchObject({ deadlineAction: "stop" });
  });

  it("stops a sandbox whose extension asks for that", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    await sandbox.extend(20, "stop");
    await sandbox.ended;
    expect(await sandboxes.info(LOCAL, sandbox.id)).toMatchObject({ state: "stopped", endReason: "deadline" });
  });

  it("that stopped a sandbox is known to its process before it is written down", async () => {
    const runtime = fakeRuntime({ host });
    const bell = new EventEmitter();
    const [asked, answered] = [once(bell, "asked"), once(bell, "answered")];
    let calls = 0;
    const clear: Runtime["clear"] = async (run) => {
      calls += 1;
      if (calls > 1) bell.emit("asked");
      await answered;
      return runtime.clear(run);
    };
    await using sandboxes = openHome({ runtimes: byName({ ...runtime, clear }) });
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    void host.get(sandbox.id)?.stop("deadline");
    await sandbox.ended;
    const info = sandboxes.info(LOCAL, sandbox.id);
    await Promise.race([asked, Promise.allSettled([info])]);
    bell.emit("answered");
    expect(await info).toMatchObject({ state: "stopped", endReason: "deadline" });
  });

  it("that paused a sandbox gives it its full time again with the next call", async () => {
    await using sandboxes = openHome();
    const sandbox = await sandboxes.create(LOCAL, {}, signal);
    await sandbox.extend(3_600_000, "pause");
    host.get(sandbox.id)?.extend(new Date(1));
    expect(await sandboxes.info(LOCAL, sandbox.id)).toMatchObject({ state: "paused" });
    expect(await inside(sandbox, "echo awake")).toBe("awake\n");
    const { deadline } = await sandbox.usage();
    expect(Math.abs((deadline?.getTime() ?? 0) - Date.now() - 3_600_000)).toBeLessThan(60_000);
  });
});
