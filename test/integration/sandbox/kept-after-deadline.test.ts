import { EventEmitter, once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { BelljarError } from "../../../src/errors.ts";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import { removeRoot } from "../../../src/runtime/fake/fake-sandbox.ts";
import type { Runtime } from "../../../src/runtime/contract/runtime.ts";
import type { LocalSandboxes } from "../../../src/sandbox/local-sandboxes-options.ts";
import type { Sandbox, SandboxEvent, SandboxInfo } from "../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openEvents } from "../../support/event-reader.ts";
import { DEFAULTS, useFakeHome } from "../../support/fake-home.ts";

const signal = new AbortController().signal;
const at = useFakeHome();
const DAY_MS = 86_400_000;
const keeping = (limits: object) => ({ config: { sandbox: { ...DEFAULTS, ...limits } } });

async function inside(sandbox: Sandbox, script: string): Promise<string> {
  return (await sandbox.guest.run({ argv: ["sh", "-c", script], signal })).stdout.toString();
}

/** Its deadline passes, and its end is written down. */
async function meetDeadline(sandboxes: LocalSandboxes, sandbox: Sandbox): Promise<SandboxInfo> {
  await sandbox.extend(1);
  await sandbox.ended;
  return sandboxes.info(LOCAL, sandbox.id);
}

/** A default sandbox with so many bytes in a file, which its deadline has stopped. */
async function makeStopped(sandboxes: LocalSandboxes, name: string, bytes = 1): Promise<string> {
  const { sandbox } = await sandboxes.default(LOCAL, name, {}, signal);
  await inside(sandbox, `head -c ${bytes} /dev/zero > file`);
  await meetDeadline(sandboxes, sandbox);
  return sandbox.id;
}

const stateOf = async (sandboxes: LocalSandboxes, id: string) => {
  const { state, endReason } = await sandboxes.info(LOCAL, id);
  return `${state} ${endReason ?? ""}`.trim();
};

it("a default sandbox is stopped at its deadline, and the next question starts it again with its files", async () => {
  await using one = at.openHome(keeping({ keep: DAY_MS }));
  const { sandbox } = await one.default(LOCAL, "work", {}, signal);
  expect(await sandbox.info()).toMatchObject({ onDeadline: "stop" });
  await inside(sandbox, "echo kept > file");
  const stopped = await meetDeadline(one, sandbox);
  expect(stopped).toMatchObject({ state: "stopped", endReason: "deadline" });
  expect(stopped.keptUntil?.getTime()).toBe((stopped.endedAt?.getTime() ?? 0) + DAY_MS);
  await using other = at.openHome();
  const again = await other.default(LOCAL, "work", {}, signal);
  expect(again).toMatchObject({ created: false, started: true });
  expect(again.sandbox).toMatchObject({ id: sandbox.id, generation: 2 });
  expect(await again.sandbox.lastStop?.()).toEqual({ reason: "deadline", at: stopped.endedAt });
  expect(await inside(again.sandbox, "cat file")).toBe("kept\n");
  expect(await other.default(LOCAL, "work", {}, signal)).not.toHaveProperty("started");
});

it("its maker chooses what happens to a sandbox at its deadline; without a choice it is deleted", async () => {
  await using sandboxes = at.openHome();
  const kept = await sandboxes.create(LOCAL, { onDeadline: "stop" }, signal);
  const plain = await sandboxes.create(LOCAL, {}, signal);
  const { sandbox: chosen } = await sandboxes.default(LOCAL, "work", { onDeadline: "kill" }, signal);
  const states = await Promise.all([kept, plain, chosen].map((sandbox) => meetDeadline(sandboxes, sandbox)));
  expect(states.map(({ state }) => state)).toEqual(["stopped", "ended", "ended"]);
  await expect(sandboxes.create(LOCAL, { onDeadline: "sleep" as "stop" }, signal)).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});

it("a default sandbox that an earlier Belljar made is kept as well", async () => {
  await using one = at.openHome();
  const { sandbox } = await one.default(LOCAL, "work", { onDeadline: "kill" }, signal);
  const { deadline } = await sandbox.usage();
  at.rewriteRecord(sandbox.id, { onDeadline: undefined });
  await using other = at.openHome();
  await other.default(LOCAL, "work", {}, signal);
  const usage = await sandbox.usage();
  expect(usage.deadlineAction).toBe("stop");
  expect(Math.abs((usage.deadline?.getTime() ?? 0) - (deadline?.getTime() ?? 0))).toBeLessThan(60_000);
});

it("nothing is kept where the configuration says so, or the runtime cannot", async () => {
  await using none = at.openHome(keeping({ keep: 0 }));
  const { sandbox } = await none.default(LOCAL, "work", {}, signal);
  expect((await meetDeadline(none, sandbox)).state).toBe("ended");
  const plain = fakeRuntime({ host: at.host, limits: ["memoryBytes", "pids"] });
  const runtime: Runtime = { ...plain, probe: async () => ({ ...(await plain.probe()), stop: false }) };
  await using unable = at.openHome({ runtime });
  const { sandbox: other } = await unable.default(LOCAL, "other", {}, signal);
  expect((await other.usage()).deadlineAction).toBe("kill");
});

it("a default sandbox whose first run was lost, as when the machine restarts, is kept if its files are there", async () => {
  for (const isThere of [true, false]) {
    const maker = at.openHome();
    const { sandbox } = await maker.default(LOCAL, `work ${isThere}`, {}, signal);
    await inside(sandbox, "echo kept > file");
    await maker[Symbol.asyncDispose]();
    at.host.delete(sandbox.id);
    if (!isThere) removeRoot(at.folderOf(sandbox.id));
    at.rewriteRecord(sandbox.id, { creator: { pid: 2 ** 22, startedMs: 1 } });
    await using later = at.openHome();
    const again = await later.default(LOCAL, `work ${isThere}`, {}, signal);
    expect(again.created).toBe(!isThere);
    expect(await inside(again.sandbox, "cat file")).toBe(isThere ? "kept\n" : "");
    expect(again.earlier).toBe(isThere ? undefined : sandbox.id);
    expect(await stateOf(later, sandbox.id)).toBe(isThere ? "running" : "ended keeper_lost");
  }
});

it("a default sandbox whose files are lost is made anew, and the earlier one says why", async () => {
  await using one = at.openHome();
  const id = await makeStopped(one, "work");
  const lost = () => Promise.reject(new BelljarError("SANDBOX_FILES_LOST", "gone"));
  const plain = fakeRuntime({ host: at.host, limits: ["memoryBytes", "pids"] });
  const runtime: Runtime = { ...plain, create: (spec, until) => (spec.id === id ? lost() : plain.create(spec, until)) };
  await using other = at.openHome({ runtime });
  const { created, earlier } = await other.default(LOCAL, "work", {}, signal);
  expect({ created, earlier }).toEqual({ created: true, earlier: id });
  expect(await stateOf(other, id)).toBe("ended files_lost");
});

it("a sweep removes stopped sandboxes past their time, and none that somebody stopped or that runs again", async () => {
  await using maker = at.openHome();
  const old = await makeStopped(maker, "old");
  const started = await makeStopped(maker, "started");
  const asked = await maker.create(LOCAL, {}, signal);
  await asked.stop();
  await using sweeper = at.openHome(keeping({ keep: 1 }));
  await sweeper.default(LOCAL, "started", {}, signal);
  await sweeper.sweep();
  const states = await Promise.all([old, started, asked.id].map((id) => stateOf(sweeper, id)));
  expect(states).toEqual(["ended expired", "running", "stopped stopped"]);
  expect(at.problems).toEqual([
    expect.stringMatching(/^Sandbox \w+ \(default:old\), stopped since \S+Z, was removed with its files: its time/),
  ]);
  expect(await sweeper.default(LOCAL, "old", {}, signal)).toMatchObject({ created: true, earlier: old });
});

it("those stopped first make room for later ones, at each stop, and what they hold is shown", async () => {
  await using sandboxes = at.openHome(keeping({ keep: DAY_MS, keepBytes: 2_500_000 }));
  await sandboxes.sweep();
  await using events = await openEvents(sandboxes, LOCAL);
  const ids: string[] = [];
  for (const name of ["a", "b", "c", "d"]) ids.push(await makeStopped(sandboxes, name, 1_000_000));
  const isEnd = ({ type }: SandboxEvent): boolean => type === "ended";
  for (const sandbox of ids.slice(0, 2)) expect(await events.until(isEnd)).toMatchObject({ sandbox, reason: "no_room" });
  expect(await Promise.all(ids.map((id) => stateOf(sandboxes, id)))).toEqual([
    "ended no_room",
    "ended no_room",
    "stopped deadline",
    "stopped deadline",
  ]);
  await sandboxes.sweep(); // after the last stop was looked at
  expect(sandboxes.kept().unasked).toMatchObject({ count: 2, memoryBytes: 0 });
  expect((await sandboxes.info(LOCAL, ids[3] ?? "")).keptBytes).toBeGreaterThanOrEqual(1_000_000);
  await sandboxes.default(LOCAL, "d", {}, signal);
  expect(sandboxes.kept().unasked.count).toBe(1);
  expect(readdirSync(join(at.home, "kept"))).toHaveLength(1);
});

it("an entry of a sandbox that was started by a process that died costs no other one its files", async () => {
  await using one = at.openHome(keeping({ keepBytes: 2_500_000 }));
  await one.sweep();
  const first = await makeStopped(one, "first", 1_000_000);
  const second = await makeStopped(one, "second", 1_000_000);
  await one.sweep();
  const names = readdirSync(join(at.home, "kept"));
  await one.default(LOCAL, "second", {}, signal);
  for (const name of names) writeFileSync(join(at.home, "kept", name), "");
  const third = await makeStopped(one, "third", 1_000_000);
  await one.sweep(); // after the stop was looked at
  expect(await Promise.all([first, second, third].map((id) => stateOf(one, id)))).toEqual([
    "stopped deadline",
    "running",
    "stopped deadline",
  ]);
});

it("a process that ends waits for no count", async () => {
  await using maker = at.openHome();
  await makeStopped(maker, "work");
  const counting = new EventEmitter();
  const plain = fakeRuntime({ host: at.host, limits: ["memoryBytes", "pids"] });
  const measure: Runtime["layers"]["measure"] = async (_run, over) => {
    const aborted = once(over, "abort");
    counting.emit("begun");
    await aborted;
    throw new BelljarError("CANCELLED", "cut short");
  };
  const other = at.openHome({ runtime: { ...plain, layers: { ...plain.layers, measure } } });
  const begun = once(counting, "begun");
  const swept = other.sweep();
  await begun;
  await other[Symbol.asyncDispose]();
  await swept;
  expect(at.problems).toEqual([]);
  await maker.sweep();
  expect(maker.kept().unasked).toEqual({ count: 1, diskBytes: 1, memoryBytes: 0 });
});
