import { EventEmitter, once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { byName } from "../../support/by-name.ts";
import type { FakeHost } from "../../../src/runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import type { Runtime } from "../../../src/runtime/contract/runtime.ts";
import { listAll } from "../../../src/sandbox/list-sandboxes.ts";
import type { LocalSandboxes } from "../../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import type { Principal, SandboxPage } from "../../../src/sandbox/sandbox.ts";
import { LIVE_STATES, LOCAL } from "../../../src/sandbox/sandbox.ts";

const signal = new AbortController().signal;
const OTHER: Principal = { id: "other", name: "other" };

let home: string;
let host: FakeHost;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-list-"));
  host = new Map();
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

function openHome(runtime: Runtime = fakeRuntime({ host }), listMax = 100, report?: (problem: string) => void): LocalSandboxes {
  const config = { sandbox: { timeoutMs: 600_000 }, listMax, tombstoneRetentionMs: 60_000 };
  return createLocalSandboxes({ home, runtimes: byName(runtime), config, ...(report && { report }) });
}

/** Ids, the newest first; `ages` are the seconds since each was made. */
async function makeAll(sandboxes: LocalSandboxes, ages: readonly number[]): Promise<readonly string[]> {
  const now = Date.now();
  const made: { readonly id: string; readonly age: number }[] = [];
  for (const age of ages) made.push({ id: (await sandboxes.create(LOCAL, { metadata: { job: "a" } }, signal)).id, age });
  for (const { id, age } of made) {
    const path = join(home, "sandboxes", id, "sandbox.json");
    const record = JSON.parse(readFileSync(path, "utf8")) as object;
    writeFileSync(path, JSON.stringify({ ...record, createdAt: new Date(now - age * 1_000) }));
  }
  return made.toSorted((one, other) => one.age - other.age || (one.id < other.id ? -1 : 1)).map(({ id }) => id);
}

const idsOf = ({ sandboxes }: SandboxPage): readonly string[] => sandboxes.map(({ id }) => id);

describe("pages of a list", () => {
  it("follow each other from the newest to the oldest, also those of one moment", async () => {
    await using maker = openHome();
    const ids = await makeAll(maker, [3, 1, 1, 1, 2]);
    await using reader = openHome();
    const first = await reader.list(LOCAL, { limit: 2 });
    const second = await reader.list(LOCAL, { limit: 2, cursor: first.nextCursor });
    const third = await reader.list(LOCAL, { limit: 2, cursor: second.nextCursor });
    expect([idsOf(first), idsOf(second), idsOf(third)]).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    expect(third.nextCursor).toBeUndefined();
  });

  it("read the ends of their own sandboxes alone", async () => {
    await using maker = openHome();
    const [, , , last = ""] = await makeAll(maker, [1, 2, 3, 4]);
    await (await maker.get(LOCAL, last)).kill();
    rmSync(join(home, "sandboxes", last, "tombstone.json"));
    mkdirSync(join(home, "sandboxes", last, "tombstone.json")); // nobody can read this
    const problems: string[] = [];
    await using reader = openHome(undefined, undefined, (problem) => void problems.push(problem));
    const first = await reader.list(LOCAL, { limit: 2 });
    expect([first.sandboxes.length, problems]).toEqual([2, []]);
    await reader.list(LOCAL, { limit: 2, cursor: first.nextCursor });
    expect(problems).toEqual([expect.stringContaining(last)]);
  });

  it("miss none and show none twice while others are made and removed", async () => {
    await using maker = openHome();
    const ids = await makeAll(maker, [1, 2, 3, 4]);
    await using reader = openHome();
    const first = await reader.list(LOCAL, { limit: 2 });
    await (await reader.get(LOCAL, ids[1] ?? "")).kill();
    rmSync(join(home, "sandboxes", ids[1] ?? ""), { recursive: true });
    await maker.create(LOCAL, {}, signal);
    expect(idsOf(await reader.list(LOCAL, { limit: 2, cursor: first.nextCursor }))).toEqual(ids.slice(2));
  });

  it("have what fits the filter, however many do not", async () => {
    await using maker = openHome();
    const ids = await makeAll(maker, [1, 2, 3, 4, 5]);
    await using reader = openHome();
    for (const id of [ids[0], ids[2], ids[3]]) await (await reader.get(LOCAL, id ?? "")).kill();
    const filter = { state: LIVE_STATES, metadata: { job: "a" } };
    const first = await reader.list(LOCAL, { filter, limit: 1 });
    const second = await reader.list(LOCAL, { filter, limit: 1, cursor: first.nextCursor });
    expect([...idsOf(first), ...idsOf(second), second.nextCursor]).toEqual([ids[1], ids[4], undefined]);
  });

  it("are full where the newest do not fit the filter", async () => {
    await using maker = openHome();
    const ids = await makeAll(maker, [1, 2, 3, 4, 5, 6, 7, 8]);
    await using reader = openHome();
    for (const id of ids.slice(0, 2)) await (await reader.get(LOCAL, id)).kill();
    const first = await reader.list(LOCAL, { filter: { state: LIVE_STATES }, limit: 3 });
    expect([idsOf(first), first.nextCursor !== undefined]).toEqual([ids.slice(2, 5), true]);
  });

  it("have no more entries than listMax, whatever is asked for", async () => {
    await using maker = openHome();
    await makeAll(maker, [1, 2, 3]);
    await using reader = openHome(fakeRuntime({ host }), 2);
    expect((await reader.list(LOCAL, { limit: 100 })).sandboxes).toHaveLength(2);
    const all: string[] = [];
    for await (const { id } of listAll(reader, LOCAL, {})) all.push(id);
    expect(new Set(all).size).toBe(3);
  });

  it("have at most eight MiB, however much each sandbox has", async () => {
    await using maker = openHome();
    // Each of these characters takes six in JSON.
    const metadata = Object.fromEntries(Array.from({ length: 15 }, (_, key) => [`k${key}`, "\u0001".repeat(4_096)]));
    for (let made = 0; made < 25; made += 1) await maker.create(LOCAL, { metadata }, signal);
    await using reader = openHome();
    const first = await reader.list(LOCAL);
    expect(JSON.stringify(first).length).toBeLessThan(8 * 1_048_576 + 1_024);
    const all: string[] = [];
    for await (const { id } of listAll(reader, LOCAL, {})) all.push(id);
    expect([first.sandboxes.length, new Set(all).size, all.length]).toEqual([22, 25, 25]);
  });

  it("ask more sandboxes together where the filter leaves few", async () => {
    await using maker = openHome();
    await makeAll(maker, Array(10).fill(1) as number[]);
    const runtime = fakeRuntime({ host });
    const opened = new EventEmitter();
    let asked = 0;
    const watched: Runtime = {
      ...runtime,
      // The first two answer, and the next four only together.
      async open(run) {
        asked += 1;
        if (asked === 6) opened.emit("six");
        else if (asked > 2) await sixth;
        return runtime.open(run);
      },
    };
    const sixth = once(opened, "six");
    await using reader = openHome(watched);
    expect((await reader.list(LOCAL, { limit: 1, filter: { state: ["ended"] } })).sandboxes).toEqual([]);
    expect(asked).toBe(10);
  });

  it("ask no more sandboxes than it takes to fill one", async () => {
    await using maker = openHome();
    await makeAll(maker, [1, 2, 3, 4, 5, 6]);
    const asked = new Set<string>();
    const runtime = fakeRuntime({ host });
    const counting: Runtime = { ...runtime, open: (run) => (asked.add(run.id), runtime.open(run)) };
    await using reader = openHome(counting);
    await reader.list(LOCAL, { limit: 2 });
    expect(asked.size).toBe(3);
  });
});

describe("a cursor", () => {
  it.each(["", "x", "0", "1.a.b", `1.${"a".repeat(20)}.${"0".repeat(16)}`, "9".repeat(10_000), "1.\0.2", "../../etc/passwd"])(
    "is refused when it is %j",
    async (cursor) => {
      await using sandboxes = openHome();
      await expect(sandboxes.list(LOCAL, { cursor })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
    },
  );

  it("is refused for another filter, and for another owner", async () => {
    await using sandboxes = openHome();
    await makeAll(sandboxes, [1, 2]);
    const { nextCursor: cursor } = await sandboxes.list(LOCAL, { limit: 1 });
    expect(cursor).toBeDefined();
    await expect(sandboxes.list(LOCAL, { cursor, filter: { state: ["ended"] } })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
    await expect(sandboxes.list(LOCAL, { cursor, filter: { metadata: { job: "a" } } })).rejects.toMatchObject({
      code: "ARGUMENTS_INVALID",
    });
    await expect(sandboxes.list(OTHER, { cursor })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  });
});

it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("refuses a limit of %s", async (limit) => {
  await using sandboxes = openHome();
  await expect(sandboxes.list(LOCAL, { limit })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
});

it("gives up a list that never ends", async () => {
  const endless = { list: async () => ({ sandboxes: [], nextCursor: "again" }) };
  await expect(listAll(endless, LOCAL, {}).next()).rejects.toMatchObject({ code: "RESULT_TOO_LARGE" });
});
