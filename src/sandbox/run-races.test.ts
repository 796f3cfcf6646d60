import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { byName } from "../../test/support/by-name.ts";
import { createRecordedEgress } from "../../test/support/recorded-egress.ts";
import { BelljarError } from "../errors.ts";
import type { FakeHost } from "../runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../runtime/fake/fake-runtime.ts";
import type { Runtime } from "../runtime/contract/runtime.ts";
import type { LocalSandboxes, LocalSandboxesOptions } from "./local-sandboxes-options.ts";
import { createLocalSandboxes } from "./local-sandboxes.ts";
import type { Principal, Sandbox } from "./sandbox.ts";
import { LOCAL } from "./sandbox.ts";

const config = { sandbox: { timeoutMs: 3_600_000 }, listMax: 100, tombstoneRetentionMs: 60_000 };
const signal = new AbortController().signal;
const NPM = { allow: ["npm"] };
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });

let home: string;
let host: FakeHost;
let problems: string[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-runs-"));
  host = new Map();
  problems = [];
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

/** One process of Belljar on the home. `changed`: what its runtime does in another way. */
function openHome(changed: Partial<Runtime> = {}, more: Partial<LocalSandboxesOptions> = {}): LocalSandboxes {
  const runtimes = byName({ ...fakeRuntime({ host }), ...changed });
  return createLocalSandboxes({ home, runtimes, config, report: (problem) => problems.push(problem), ...more });
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

/** Does something in the middle of each start: a run is written down, and nobody can open it yet. */
function amidStart(act: () => PromiseLike<unknown>): Partial<Runtime> {
  const runtime = fakeRuntime({ host });
  return {
    create: async (spec, one) => {
      if (spec.generation > 1) await act();
      return runtime.create(spec, one);
    },
  };
}

/** Does something when a started run can be opened, and its starter does not hold it yet. */
function afterStart(act: () => PromiseLike<unknown>): Partial<Runtime> {
  const runtime = fakeRuntime({ host });
  return {
    create: async (spec, one) => {
      const running = await runtime.create(spec, one);
      if (spec.generation > 1) await act();
      return running;
    },
  };
}

/** How a call went: the code of its refusal, or nothing. */
async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  return call.then(
    () => undefined,
    (cause: unknown) => (cause instanceof BelljarError ? cause.code : String(cause)),
  );
}

/** Starts it by `starter`, which must come to a run that lives, with what the sandbox had. */
async function startKept(starter: LocalSandboxes, id: string): Promise<void> {
  const sandbox = await (await starter.get(LOCAL, id)).start(signal);
  expect(await inside(sandbox, "cat file")).toBe("kept\n");
  expect(await starter.info(LOCAL, id)).toMatchObject({ state: "running" });
  expect(host.get(id)?.generation).toBe(2);
}

/** A process that hears of ends only when `tell` is called. `open`: how many handles it has not released. */
function deafHome() {
  let open = 0;
  let tell = (): void => undefined;
  const told = new Promise<void>((resolve) => (tell = resolve));
  const runtime = fakeRuntime({ host });
  const openDeaf: Runtime["open"] = async (run) => {
    const running = await runtime.open(run);
    if (!running) return undefined;
    open += 1;
    const release = (): Promise<void> => ((open -= 1), running.release());
    return { ...running, ended: told.then(() => running.ended), release };
  };
  return { sandboxes: openHome({ open: openDeaf }), tell, open: () => open };
}

describe("a run that another process stopped", () => {
  it.each(["stopped", "started again"])("is released by whoever held it, though the sandbox is %s by then", async (now) => {
    await using one = openHome();
    const sandbox = await one.create(LOCAL, {}, signal);
    const { sandboxes, tell, open } = deafHome();
    await using other = sandboxes;
    const { ended } = await other.get(LOCAL, sandbox.id);
    expect(open()).toBe(1);
    await sandbox.stop();
    if (now === "started again") await (await one.get(LOCAL, sandbox.id)).start(signal);
    tell();
    await ended;
    await other.sweep();
    expect(open()).toBe(0);
    expect(problems).toEqual([]);
  });
});

describe("a start", () => {
  it("by a handle of a run that ended starts the next run", async () => {
    await using one = openHome();
    const sandbox = await one.create(LOCAL, {}, signal);
    await inside(sandbox, "echo kept > file");
    await using other = openHome();
    const held = await other.get(LOCAL, sandbox.id);
    await sandbox.stop();
    await held.ended;
    expect(await inside(await sandbox.start(signal), "cat file")).toBe("kept\n");
    expect(await inside(await held.start(signal), "cat file")).toBe("kept\n");
    expect(host.get(sandbox.id)?.generation).toBe(2);
    await sandbox.kill();
    await expect(sandbox.start(signal)).rejects.toThrow(withCode("SANDBOX_ENDED"));
  });

  it("leaves the run running that its process, which closes, cannot hold any more", async () => {
    await using maker = openHome();
    const id = await makeStopped(maker);
    const closing: LocalSandboxes = openHome(afterStart(() => closing[Symbol.asyncDispose]()));
    await expect((await closing.get(LOCAL, id)).start(signal)).rejects.toThrow(withCode("CANCELLED"));
    expect(await maker.info(LOCAL, id)).toMatchObject({ state: "running" });
    await (await maker.get(LOCAL, id)).start(signal);
    expect(host.get(id)?.generation).toBe(2);
  });

  it("leaves a run alone that its runtime says to live, though the create failed", async () => {
    await using maker = openHome();
    const id = await makeStopped(maker);
    const late = () => Promise.reject(new BelljarError("SANDBOX_UNRESPONSIVE", "too late"));
    await using other = openHome(afterStart(late));
    await expect((await other.get(LOCAL, id)).start(signal)).rejects.toThrow("too late");
    expect(await maker.info(LOCAL, id)).toMatchObject({ state: "running" });
    await (await maker.get(LOCAL, id)).start(signal);
    expect(host.get(id)?.generation).toBe(2);
  });

  it("holds its run once, though the run was opened before its starter could hold it", async () => {
    await using maker = openHome();
    const id = await makeStopped(maker);
    const egress = createRecordedEgress();
    let opened: Sandbox | undefined;
    const act = async (): Promise<void> => void (opened = await both.get(LOCAL, id));
    await using both: LocalSandboxes = openHome(afterStart(act), { egress });
    const started = await (await both.get(LOCAL, id)).start(signal);
    expect(started).toBe(opened);
    await opened?.setNetwork(NPM);
    await started.setNetwork("none");
    await egress.told(({ kind }) => kind === "stop");
    expect(egress.events.map(({ kind }) => kind)).toEqual(["serve", "stop"]);
  });

  it("refuses a kill by another process as long as it goes on", async () => {
    await using maker = openHome();
    const id = await makeStopped(maker);
    const known = await maker.get(LOCAL, id);
    const codes: unknown[] = [];
    await using starter = openHome(amidStart(async () => codes.push(await codeOf(known.kill()))));
    await startKept(starter, id);
    expect(codes).toEqual(["RUNTIME_UNAVAILABLE"]);
    await known.kill();
    expect(await starter.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "killed" });
    expect(host.size).toBe(0);
  });

  it("outlives the looks of other processes, and whatever they do with the run before", async () => {
    await using maker = openHome();
    const first = await maker.create(LOCAL, {}, signal);
    await inside(first, "echo kept > file");
    await using other = openHome();
    await (await other.get(LOCAL, first.id)).stop();
    const looks: readonly [string, () => Promise<unknown>][] = [
      ["stop of the run before", () => first.stop()],
      ["info", () => maker.info(LOCAL, first.id)],
      ["get", () => maker.get(LOCAL, first.id)],
      ["list", () => maker.list(LOCAL)],
      ["sweep", () => maker.sweep()],
    ];
    const codes: unknown[] = [];
    await using starter = openHome(
      amidStart(async () => {
        for (const [name, look] of looks) codes.push([name, await codeOf(look())]);
      }),
    );
    await startKept(starter, first.id);
    expect(codes).toEqual([
      ["stop of the run before", undefined],
      ["info", "RUNTIME_UNAVAILABLE"],
      ["get", "RUNTIME_UNAVAILABLE"],
      ["list", undefined],
      ["sweep", undefined],
    ]);
    expect(problems).toEqual([]);
  });

  it("of a default sandbox that another process has just ended makes a new one", async () => {
    await using sandboxes = openHome();
    const { sandbox } = await sandboxes.default(LOCAL, "work", {}, signal);
    // Its end is written, and this process has not heard of it.
    const end = { reason: "killed", at: new Date(), isCleared: true };
    writeFileSync(join(home, "sandboxes", sandbox.id, "tombstone.json"), JSON.stringify(end));
    const { created, sandbox: next } = await sandboxes.default(LOCAL, "work", {}, signal);
    expect({ created, isSame: next.id === sandbox.id }).toEqual({ created: true, isSame: false });
  });

  it("of a default sandbox lets no other one take its place", async () => {
    await using maker = openHome();
    const { sandbox } = await maker.default(LOCAL, "work", {}, signal);
    await inside(sandbox, "echo kept > file");
    await sandbox.stop();
    const codes: unknown[] = [];
    await using starter = openHome(amidStart(async () => codes.push(await codeOf(maker.default(LOCAL, "work", {}, signal)))));
    await startKept(starter, sandbox.id);
    expect(codes).toEqual(["RUNTIME_UNAVAILABLE"]);
    expect(await maker.default(LOCAL, "work", {}, signal)).toMatchObject({ created: false, sandbox: { id: sandbox.id } });
  });

  it("counts against a quota from its beginning, for other processes too", async () => {
    const quotas = { sandboxes: 1 };
    await using maker = openHome({}, { quotas });
    const [first, second] = [await makeStopped(maker), await makeStopped(maker)];
    const codes: unknown[] = [];
    const startSecond = async (): Promise<unknown> => codes.push(await codeOf((await maker.get(LOCAL, second)).start(signal)));
    await using starter = openHome(amidStart(startSecond), { quotas });
    await startKept(starter, first);
    expect(codes).toEqual(["QUOTA_EXCEEDED"]);
    expect(await maker.info(LOCAL, second)).toMatchObject({ state: "stopped" });
    await (await maker.get(LOCAL, first)).stop();
    await startKept(maker, second);
  });

  it("has a place in the line of its quota, though others start at the same time", async () => {
    const quotas = { sandboxes: 2 };
    await using one = openHome({}, { quotas });
    await using other = openHome({}, { quotas });
    const ids = [await makeStopped(one), await makeStopped(one), await makeStopped(one), await makeStopped(one)];
    const stopped = await Promise.all(ids.map((id, at) => (at % 2 ? one : other).get(LOCAL, id)));
    const codes = await Promise.all(stopped.map((sandbox) => codeOf(sandbox.start(signal))));
    expect(codes.filter((code) => code !== undefined)).toEqual(["QUOTA_EXCEEDED", "QUOTA_EXCEEDED"]);
    expect(host.size).toBe(2);
  });

  it("of a sandbox that runs already hides it from no quota", async () => {
    await using one = openHome({}, { quotas: { sandboxes: 1 } });
    const id = await makeStopped(one);
    const known = await one.get(LOCAL, id);
    await startKept(one, id);
    for (let round = 0; round < 12; round += 1) {
      let isOver = false;
      const startOften = async (): Promise<void> => {
        while (!isOver) await codeOf(known.start(signal));
      };
      const starts = [startOften(), startOften(), startOften()];
      expect(await codeOf(one.create(LOCAL, {}, signal).finally(() => (isOver = true)))).toBe("QUOTA_EXCEEDED");
      await Promise.all(starts);
    }
  });

  it("that failed leaves its room to others", async () => {
    const quotas = { sandboxes: 1 };
    await using maker = openHome({}, { quotas });
    const [first, second] = [await makeStopped(maker), await makeStopped(maker)];
    await using starter = openHome({ create: () => Promise.reject(new BelljarError("RUNTIME_FAILED", "not today")) }, { quotas });
    await expect((await starter.get(LOCAL, first)).start(signal)).rejects.toThrow("not today");
    await startKept(maker, second);
  });

  it("whose process died before it told the others has no network until one of them sees the sandbox", async () => {
    const egress = createRecordedEgress();
    await using server = openHome({}, { egress });
    await server.serveNetworks();
    const first = await server.create(LOCAL, { network: NPM }, signal);
    const { id } = first;
    await egress.told((event) => event.id === id);
    await first.stop();
    await egress.told(({ kind }) => kind === "stop");
    await using dying = openHome(afterStart(() => Promise.reject(new BelljarError("RUNTIME_FAILED", "it dies here"))));
    await expect((await dying.get(LOCAL, id)).start(signal)).rejects.toThrow("it dies here");
    expect(host.get(id)?.generation).toBe(2);
    expect(egress.serves(id)).toBeUndefined();
    expect(await server.info(LOCAL, id)).toMatchObject({ state: "running", network: NPM });
    await egress.told((event) => event.kind === "serve" && egress.events.indexOf(event) > 0);
    expect(egress.serves(id)).toMatchObject({ policy: NPM });
  });

  it("goes on though the other processes cannot be told, and says so", async () => {
    await using maker = openHome({}, { egress: createRecordedEgress() });
    const id = await makeStopped(maker);
    const stopped = await maker.get(LOCAL, id);
    mkdirSync(join(home, "network", `${id}.7.json`)); // a file that nobody can read
    expect(await stopped.start(signal)).toMatchObject({ id });
    expect(host.get(id)?.generation).toBe(2);
    expect(problems.join()).toContain("served by those alone");
  });

  it("that came to nothing because the sandbox was killed meanwhile leaves it ended", async () => {
    await using maker = openHome();
    const id = await makeStopped(maker);
    const killed = async (): Promise<never> => {
      await host.get(id)?.finish("killed");
      throw new BelljarError("RUNTIME_FAILED", "it is gone");
    };
    await using other = openHome(afterStart(killed));
    await expect((await other.get(LOCAL, id)).start(signal)).rejects.toThrow("it is gone");
    forgetStarter(id);
    expect(await maker.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "killed" });
  });
});

/** Rewrites the state of the present run as if its starter had died. */
function forgetStarter(id: string): void {
  const folder = join(home, "sandboxes", id);
  const name = readdirSync(folder).find((one) => one.startsWith("state.")) ?? "";
  const state = JSON.parse(readFileSync(join(folder, name), "utf8")) as object;
  writeFileSync(join(folder, name), JSON.stringify({ ...state, creator: { pid: spawnSync("true").pid, startedMs: 1 } }));
}
