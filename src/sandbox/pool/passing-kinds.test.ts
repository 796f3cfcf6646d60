import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { byName } from "../../../test/support/by-name.ts";
import { INSIDE } from "../../../test/support/run-of.ts";
import { sandboxRecord } from "../../../test/support/sandbox-record.ts";
import { until } from "../../../test/support/until.ts";
import { type FakeHost, fakeRuntime } from "../../runtime/fake/fake-runtime.ts";
import type { RunningSandbox } from "../../runtime/contract/run.ts";
import { Journal } from "../journal.ts";
import { Runtimes } from "../runtimes.ts";
import { createSandboxId } from "../sandbox-id.ts";
import { PassingKinds } from "./passing-kinds.ts";
import { PoolFiles } from "./pool-files.ts";
import { PoolMaker } from "./pool-maker.ts";
import type { PassingOptions } from "./pool-options.ts";

afterEach(() => void vi.useRealTimers());

const SNAPSHOT = createSandboxId();
const OTHER = createSandboxId();

interface LabOptions extends Partial<Pick<PassingOptions, "kinds" | "size" | "idleMs" | "warm">> {
  readonly hasSnapshot?: (id: string) => Promise<boolean>;
  /** What stands before these calls of a sandbox. */
  readonly kill?: (id: string) => Promise<void>;
  readonly extend?: (id: string) => Promise<void>;
}

/** Passing kinds of a home on the fake runtime. */
function openLab({ hasSnapshot = async () => true, kill, extend, ...passing }: LabOptions = {}) {
  const home = mkdtempSync(join(tmpdir(), "belljar-passing-"));
  const host: FakeHost = new Map();
  const problems: string[] = [];
  const report = (problem: string): void => void problems.push(problem);
  const fake = fakeRuntime({ host });
  const gated = (running: RunningSandbox): RunningSandbox => ({
    ...running,
    kill: async (reason) => (await kill?.(running.id), running.kill(reason)),
    extend: async (...to) => (await extend?.(running.id), running.extend(...to)),
  });
  const open: typeof fake.open = async (run) => {
    const running = await fake.open(run);
    return running && gated(running);
  };
  const runtime = { ...fake, open, create: async (...to: Parameters<typeof fake.create>) => gated(await fake.create(...to)) };
  const parts = {
    files: new PoolFiles(home),
    journal: new Journal(home, report),
    runtimes: new Runtimes(byName(runtime), {}),
    ends: { clearUnknown: async (id: string) => (host.has(id) ? undefined : { reason: "killed" as const, at: new Date(0) }) },
  };
  const kinds = new PassingKinds({
    ...parts,
    maker: new PoolMaker(parts),
    pool: {
      version: "1",
      kinds: [],
      passing: { name: "packages", kinds: 2, size: 1, idleMs: 600_000, warm: async () => undefined, ...passing },
      handOver: async () => undefined,
      room: () => "free",
    },
    hasSnapshot,
    report,
  });
  const names = (...path: string[]): readonly string[] => (existsSync(join(home, ...path)) ? readdirSync(join(home, ...path)) : []);
  const waiting = (): readonly string[] => names("waiting").flatMap((key) => parts.files.list(key));
  return {
    home,
    host,
    problems,
    files: parts.files,
    kinds,
    names,
    waiting,
    /** The id of the sandbox that a create of this snapshot got. */
    create: (snapshot = SNAPSHOT): Promise<string> =>
      kinds.create(
        sandboxRecord({ id: createSandboxId(), ephemeral: true }),
        async (record, taken) => (await taken?.claim(record), record.id),
        { id: snapshot, keepsReady: "nothing" },
      ),
    hasReady: (count: number): Promise<void> => until(() => kinds.counts()[0]?.ready === count),
    retire: (snapshot = SNAPSHOT): Promise<void> => kinds.retire({ id: snapshot, runtime: "fake", inside: INSIDE }),
    async [Symbol.asyncDispose]() {
      vi.useRealTimers();
      await kinds[Symbol.asyncDispose]();
      rmSync(home, { recursive: true });
    },
  };
}

/** A gate that is closed until somebody opens it. */
function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let reached = false;
  return { open: () => open(), pass: () => ((reached = true), opened), isReached: () => reached };
}

it("one that cannot be ended keeps no other one of its snapshot, and the next retirement ends it", async () => {
  const stuck = new Set<string>();
  const kill = async (id: string): Promise<void> => (stuck.has(id) ? Promise.reject(new Error(`${id} is stuck`)) : undefined);
  await using lab = openLab({ size: 3, kill });
  await lab.create();
  await lab.hasReady(3);
  const [first = "", second = ""] = lab.waiting();
  stuck.add(first).add(second);
  const failed = await lab.retire().catch((cause: unknown) => cause);
  expect(failed).toBeInstanceOf(AggregateError);
  expect(String(failed)).toContain(`${first} is stuck; Error: ${second} is stuck`);
  expect(lab.waiting().toSorted()).toEqual([first, second].toSorted());
  stuck.clear();
  await lab.retire();
  expect([lab.names("waiting"), lab.host.size]).toEqual([[], 0]);
});

it("what ends while it waits is not made again and again: it counts as a failure, and its kind goes when it idles", async () => {
  let made = 0;
  const lab = openLab({
    idleMs: 1_500,
    warm: async (_start, { id }) => {
      made += 1;
      void until(() => lab.kinds.counts()[0]?.ready === 1).then(() => lab.host.get(id)?.finish("keeper_lost"));
    },
  });
  await using _closed = lab;
  await lab.create();
  await until(() => lab.problems.length > 0);
  await lab.create();
  await until(() => lab.names("waiting").length === 0);
  expect([made, lab.problems]).toEqual([
    1,
    ["No sandbox can wait warm with the packages of a tool: One that waited has ended (keeper_lost)"],
  ]);
});

it("one that another process has claimed, and ended, is no failure: the next one is made", async () => {
  await using lab = openLab();
  await lab.create();
  await lab.hasReady(1);
  const [key = ""] = lab.names("waiting");
  const [id = ""] = lab.waiting();
  expect(lab.files.claim(key, id)).toBe(true);
  await lab.host.get(id)?.finish("killed");
  await until(() => lab.waiting().length === 1);
  expect([lab.waiting().includes(id), lab.problems]).toEqual([false, []]);
});

it("one that is claimed before it is on the shelf is not put there", async () => {
  let looks = 0;
  const lab = openLab({
    hasSnapshot: async () => {
      looks += 1;
      const [id] = lab.waiting();
      const [key = ""] = lab.names("waiting");
      if (id !== undefined && looks === 2) lab.files.claim(key, id);
      return true;
    },
  });
  await using _closed = lab;
  await lab.create();
  await until(() => looks > 2);
  await lab.hasReady(1);
  expect(lab.waiting()).toHaveLength(1);
  const [id] = lab.waiting();
  expect(await lab.create()).toBe(id);
});

it("no create of this process takes one that is about to be put on the shelf", async () => {
  const got: string[] = [];
  const lab = openLab({
    hasSnapshot: async () => {
      if (lab.waiting().length === 1 && got.length === 0) got.push(...lab.waiting(), await lab.create());
      return true;
    },
  });
  await using _closed = lab;
  await lab.create();
  await lab.hasReady(1);
  expect(got[1]).not.toBe(got[0]);
  expect(lab.waiting()).toEqual([got[0]]);
});

it("a retirement waits for those that are on their way out", async () => {
  const closed = gate();
  await using lab = openLab({ kinds: 1, kill: closed.pass });
  await lab.create();
  await lab.hasReady(1);
  await lab.create(OTHER);
  await until(closed.isReached);
  const [id = ""] = lab.host.keys();
  const left = lab.retire().then(() => lab.host.has(id));
  setTimeout(closed.open, 100);
  expect(await left).toBe(false);
});

it("a retirement waits for one whose deadline is being moved", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const closed = gate();
  await using lab = openLab({ extend: closed.pass });
  await lab.create();
  while (lab.kinds.counts()[0]?.ready !== 1) await vi.advanceTimersByTimeAsync(10);
  while (!closed.isReached()) await vi.advanceTimersByTimeAsync(10_000);
  vi.useRealTimers();
  const left = lab.retire().then(() => [lab.host.size, lab.names("waiting")]);
  setTimeout(closed.open, 100);
  expect(await left).toEqual([0, []]);
});

it("a folder that cannot be removed is reported, and a process closes all the same", async () => {
  await using lab = openLab();
  for (const snapshot of [SNAPSHOT, OTHER]) await lab.create(snapshot);
  await lab.hasReady(2);
  renameSync(join(lab.home, "waiting"), join(lab.home, "elsewhere"));
  writeFileSync(join(lab.home, "waiting"), "");
  await lab.kinds[Symbol.asyncDispose]();
  expect(lab.problems.filter((problem) => problem.startsWith("An empty folder of the pool cannot be removed"))).toHaveLength(2);
});

it("a tool that is called all the time keeps no other one from being ready", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  await using lab = openLab();
  await lab.create(OTHER);
  for (let turn = 0; turn < 60; turn++) {
    await lab.create();
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(lab.names("waiting").some((key) => key.startsWith(OTHER) && lab.files.list(key).length === 1)).toBe(true);
});

it("what fails in a sandbox whose process closes is nobody's concern", async () => {
  const unhandled: unknown[] = [];
  const note = (cause: unknown) => void unhandled.push(cause);
  process.on("unhandledRejection", note);
  const lab = openLab({
    warm: async () => {
      void lab.kinds[Symbol.asyncDispose]();
      throw new Error("it ended under it");
    },
  });
  await using _closed = lab;
  await lab.create();
  await until(() => lab.names("sandboxes").length === 1 && lab.host.size === 0);
  await new Promise(setImmediate);
  process.off("unhandledRejection", note);
  expect([unhandled, lab.problems]).toEqual([[], []]);
});
