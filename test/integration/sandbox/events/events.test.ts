import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type FakeHost, fakeRuntime } from "../../../../src/runtime/fake/fake-runtime.ts";
import type { Runtime } from "../../../../src/runtime/contract/runtime.ts";
import { parseCreateOptions } from "../../../../src/sandbox/create-request.ts";
import { Journal } from "../../../../src/sandbox/journal.ts";
import { newRecord } from "../../../../src/sandbox/new-record.ts";
import type { SandboxRecord } from "../../../../src/sandbox/sandbox-record.ts";
import type { SandboxEvent } from "../../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";
import { toSpec } from "../../../../src/sandbox/to-spec.ts";
import { byName } from "../../../support/by-name.ts";
import { countWatches } from "../../../support/count-watches.ts";
import { openEvents } from "../../../support/event-reader.ts";
import { openFakeSandboxes } from "../../../support/fake-sandboxes.ts";

const signal = new AbortController().signal;
const STRANGER = { id: "token:stranger", name: "stranger" };
const isOf = (id: string) => (event: SandboxEvent) => event.type !== "resync" && event.sandbox === id;
const isEnded = (event: SandboxEvent) => event.type === "ended";

it("tells what is made, changed and ended, in this order", async () => {
  await using place = await openFakeSandboxes();
  await using events = await openEvents(place.sandboxes, LOCAL);
  const sandbox = await place.sandboxes.create(LOCAL, {}, signal);
  const { id } = sandbox;
  expect(await events.next()).toEqual({ type: "created", sandbox: id });
  for (const change of [() => sandbox.registerPort(8_000, "public"), () => sandbox.extend(100_000), () => sandbox.setNetwork("none")]) {
    await change();
    expect(await events.next()).toEqual({ type: "changed", sandbox: id });
  }
  await sandbox.kill();
  expect(await events.until((event) => event.type !== "changed")).toEqual({ type: "ended", sandbox: id, reason: "killed" });
});

it("tells of a stop and a start as changes", async () => {
  await using place = await openFakeSandboxes();
  const sandbox = await place.sandboxes.create(LOCAL, {}, signal);
  await using events = await openEvents(place.sandboxes, LOCAL);
  const untilState = async (state: string): Promise<void> => {
    while ((await place.sandboxes.info(LOCAL, sandbox.id)).state !== state) await events.until(isOf(sandbox.id));
  };
  await sandbox.stop();
  await untilState("stopped");
  await (await place.sandboxes.get(LOCAL, sandbox.id)).start(signal);
  await untilState("running");
  await (await place.sandboxes.get(LOCAL, sandbox.id)).kill();
  expect(await events.until(isEnded)).toMatchObject({ sandbox: sandbox.id, reason: "killed" });
});

it("tells an owner nothing of another owner's sandboxes", async () => {
  await using place = await openFakeSandboxes();
  await using mine = await openEvents(place.sandboxes, LOCAL);
  await using others = await openEvents(place.sandboxes, STRANGER);
  const sandbox = await place.sandboxes.create(LOCAL, {}, signal);
  await sandbox.kill();
  await mine.until(isEnded);
  const own = await place.sandboxes.create(STRANGER, {}, signal);
  expect(await others.next()).toEqual({ type: "created", sandbox: own.id });
  await own.kill();
  const last = await place.sandboxes.create(LOCAL, {}, signal);
  expect(await mine.until((event) => event.type === "created")).toEqual({ type: "created", sandbox: last.id });
});

it("ends when the signal aborts, for the other readers nothing changes, and begins anew after the last one", async () => {
  await using place = await openFakeSandboxes();
  await using first = await openEvents(place.sandboxes, LOCAL);
  await using second = await openEvents(place.sandboxes, LOCAL);
  const waiting = first.next();
  first.abort();
  expect(await waiting).toBeUndefined();
  const one = await place.sandboxes.create(LOCAL, {}, signal);
  expect(await second.next()).toEqual({ type: "created", sandbox: one.id });
  await second[Symbol.asyncDispose]();
  await using third = await openEvents(place.sandboxes, LOCAL);
  const two = await place.sandboxes.create(LOCAL, {}, signal);
  expect(await third.until(isOf(two.id))).toEqual({ type: "created", sandbox: two.id });
});

it("watches the folder once for all readers, and no more after the last one", async () => {
  const home = await mkdtemp(join(tmpdir(), "bj-events-"));
  try {
    await using place = await openFakeSandboxes({ home });
    const watches = () => countWatches(join(home, "sandboxes"));
    const first = await openEvents(place.sandboxes, LOCAL);
    const second = await openEvents(place.sandboxes, STRANGER);
    expect(await watches()).toBe(1);
    await first[Symbol.asyncDispose]();
    expect(await watches()).toBe(1);
    await second[Symbol.asyncDispose]();
    expect(await watches()).toBe(0);
  } finally {
    await rm(home, { recursive: true });
  }
});

it("hears of the end of a sandbox that began to run while the first look at it went on", async () => {
  const home = await mkdtemp(join(tmpdir(), "bj-events-"));
  const runtime = fakeRuntime();
  const looks = openGate();
  const made = openGate();
  /** Its first answer is old when it comes. */
  const slow: Runtime = {
    ...runtime,
    async open(run) {
      const found = await runtime.open(run);
      looks.open();
      await made.isOpen;
      return found;
    },
  };
  try {
    await using place = await openFakeSandboxes({ home, runtimes: byName(slow) });
    await using events = await openEvents(place.sandboxes, LOCAL);
    const journal = new Journal(home, () => undefined);
    const record = recordOfOther();
    journal.write(record);
    await looks.isOpen;
    const running = await runtime.create(specOf(journal, record), signal);
    made.open();
    expect(await events.next()).toEqual({ type: "created", sandbox: record.id });
    await running.kill("deadline");
    expect(await events.until(isEnded)).toEqual({ type: "ended", sandbox: record.id, reason: "deadline" });
  } finally {
    await rm(home, { recursive: true });
  }
});

it("hears of the end of a sandbox that its first look finds ending", async () => {
  const home = await mkdtemp(join(tmpdir(), "bj-events-"));
  const runtime = fakeRuntime();
  let looks = 0;
  const made = openGate();
  /** Its first answer comes before the run begins, the next one while the run ends. */
  const late: Runtime = {
    ...runtime,
    async open(run) {
      looks += 1;
      const isFirst = looks === 1;
      if (isFirst) await made.isOpen;
      const found = isFirst ? undefined : await runtime.open(run);
      return found && { ...found, usage: async () => ({ ...(await found.usage()), phase: (void found.kill("deadline"), "ending") }) };
    },
  };
  try {
    await using place = await openFakeSandboxes({ home, runtimes: byName(late) });
    const journal = new Journal(home, () => undefined);
    const record = recordOfOther();
    await using events = await openEvents(place.sandboxes, LOCAL);
    journal.write(record);
    await runtime.create(specOf(journal, record), signal);
    made.open();
    expect(await events.until(isEnded)).toEqual({ type: "ended", sandbox: record.id, reason: "deadline" });
  } finally {
    await rm(home, { recursive: true });
  }
});

it("follows what was made in a burst of changes: it hears of that sandbox's end", async () => {
  const home = await mkdtemp(join(tmpdir(), "bj-events-"));
  const runtime = fakeRuntime();
  try {
    await using place = await openFakeSandboxes({ home, runtimes: byName(runtime) });
    await using events = await openEvents(place.sandboxes, LOCAL);
    const journal = new Journal(home, () => undefined);
    const record = recordOfOther();
    const running = await runtime.create({ ...specOf(journal, record), folder: join(home, "elsewhere") }, signal);
    for (let count = 0; count < 1_000; count += 1) {
      if (count === 500) journal.write(record);
      journal.write({ ...record, id: String(count).padStart(20, "x"), owner: "nobody" });
    }
    await events.until(({ type }) => type === "resync");
    await running.kill("deadline");
    expect(await events.until(({ type }) => type !== "changed")).toMatchObject({ type: "ended", sandbox: record.id });
  } finally {
    await rm(home, { recursive: true });
  }
});

it("tells of a change of a young sandbox as a change, since the list after the first event shows it", async () => {
  await using place = await openFakeSandboxes();
  const sandbox = await place.sandboxes.create(LOCAL, {}, signal);
  await using first = await openEvents(place.sandboxes, LOCAL);
  await using second = await openEvents(place.sandboxes, LOCAL);
  await sandbox.setNetwork("none");
  for (const events of [first, second]) expect(await events.next()).toEqual({ type: "changed", sandbox: sandbox.id });
});

it("hears of the end of a sandbox that other sandboxes of this process have made", async () => {
  const home = await mkdtemp(join(tmpdir(), "bj-events-"));
  const host: FakeHost = new Map();
  const open = () => openFakeSandboxes({ home, runtimes: byName(fakeRuntime({ host })) });
  try {
    await using place = await open();
    await using events = await openEvents(place.sandboxes, LOCAL);
    const maker = await open();
    const { id } = await maker.sandboxes.create(LOCAL, {}, signal);
    expect(await events.next()).toEqual({ type: "created", sandbox: id });
    await maker.sandboxes[Symbol.asyncDispose]();
    void host.get(id)?.finish("deadline");
    expect(await events.until(isEnded)).toEqual({ type: "ended", sandbox: id, reason: "deadline" });
  } finally {
    await rm(home, { recursive: true });
  }
});

function specOf(journal: Journal, record: SandboxRecord) {
  const run = { id: record.id, generation: 1, folder: journal.folder(record.id), inside: record.inside };
  return toSpec(run, record, { deadline: record.deadline, deadlineAction: "kill" });
}

/** The record of a sandbox that another process makes. */
function recordOfOther(): SandboxRecord {
  const inside = { env: {}, home: "/home/user", workspace: "/home/user", cwd: "/home/user" };
  const request = parseCreateOptions({}, { timeoutMs: 600_000 });
  const record = newRecord(LOCAL, { ...request, network: "none", runtime: "fake", inside });
  return { ...record, creator: { pid: process.ppid, startedMs: 1 } };
}

function openGate(): { readonly isOpen: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const isOpen = new Promise<void>((resolve) => (open = resolve));
  return { isOpen, open: () => open() };
}

it("ends with the sandboxes that it was asked of", async () => {
  const place = await openFakeSandboxes();
  await using events = await openEvents(place.sandboxes, LOCAL);
  const waiting = events.next();
  await place[Symbol.asyncDispose]();
  expect(await waiting).toBeUndefined();
});

it("refuses more readers of one owner than it keeps, and none of another one", async () => {
  await using place = await openFakeSandboxes();
  const all = await Promise.all(Array.from({ length: 1_000 }, () => openEvents(place.sandboxes, LOCAL)));
  await expect(openEvents(place.sandboxes, LOCAL)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  await using _other = await openEvents(place.sandboxes, STRANGER);
  await all.pop()?.[Symbol.asyncDispose]();
  all.push(await openEvents(place.sandboxes, LOCAL));
  await Promise.all(all.map((reader) => reader[Symbol.asyncDispose]()));
});

it("lists anew after more changes at once than the kernel may keep, and says so", async () => {
  const home = await mkdtemp(join(tmpdir(), "bj-events-"));
  try {
    await using place = await openFakeSandboxes({ home });
    const sandbox = await place.sandboxes.create(LOCAL, {}, signal);
    await using events = await openEvents(place.sandboxes, LOCAL);
    const other = new Journal(home, () => undefined);
    const { record } = (await other.read(sandbox.id)) ?? {};
    if (!record) throw new TypeError("The sandbox has no record");
    // The kernel joins equal notes that follow each other.
    for (let count = 0; count < 1_000; count += 1) {
      other.announce(sandbox.id);
      other.write({ ...record, id: String(count).padStart(20, "x"), owner: "nobody" });
    }
    expect(await events.until(({ type }) => type === "resync")).toEqual({ type: "resync" });
    await sandbox.kill();
    expect(await events.until(isEnded)).toMatchObject({ sandbox: sandbox.id });
  } finally {
    await rm(home, { recursive: true });
  }
});
