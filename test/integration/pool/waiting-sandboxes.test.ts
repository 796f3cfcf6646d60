import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runCode } from "../../../src/interpreter/lasting/contexts.ts";
import { LOCAL, type Principal, type Sandbox } from "../../../src/sandbox/sandbox.ts";
import { openPoolLab, type PoolProcess } from "../../support/pool-lab.ts";

const OTHER: Principal = { id: "other", name: "other" };
const soon = (): AbortSignal => AbortSignal.timeout(30_000);
const code = (sandbox: Sandbox, text: string, language = "python") =>
  runCode(sandbox, { code: text, language, timeoutMs: 20_000, signal: soon(), maxOutputBytes: 100_000 });
const shell = async ({ guest }: Sandbox, script: string): Promise<string> =>
  String((await guest.run({ argv: ["sh", "-c", script], user: "root", signal: soon() })).stdout);
const counts = ({ sandboxes }: PoolProcess) => sandboxes.poolCounts()[0];

it("a create takes a sandbox that waited, and its kernel with it", async () => {
  await using lab = await openPoolLab();
  const place = await lab.open({ sandboxes: 1 });
  const [id = ""] = await lab.hasWaiting(1);
  const sandbox = await place.create({ name: "mine", timeoutMs: 120_000, metadata: { a: "b" } });
  expect(sandbox.id).toBe(id);
  const pid = (await sandbox.guest.listKept(soon())).find(({ name }) => name === "context-python")?.pid;
  const result = await code(sandbox, "import os, sys\n(os.getpid(), 'random' in sys.modules)");
  expect(result.values[0]?.data["text/plain"]).toBe(`(${pid}, True)`);
  expect(result).toMatchObject({ isFresh: true, executionCount: 1 });
  const { deadline, createdAt, ...info } = await sandbox.info();
  expect(info).toMatchObject({ id, name: "mine", owner: LOCAL.id, metadata: { a: "b" }, state: "running" });
  expect(Math.abs(Number(deadline) - Number(createdAt) - 120_000)).toBeLessThan(2);
  expect(counts(place)).toMatchObject({ taken: 1, missed: 0 });
});

it("a process takes what another one of the home has made, with its kernel", async () => {
  await using lab = await openPoolLab();
  const [, other] = [await lab.open({ sandboxes: 1 }), await lab.open({})];
  const [id = ""] = await lab.hasWaiting(1);
  const sandbox = await other.create({ timeoutMs: 300_000 });
  expect(sandbox.id).toBe(id);
  expect((await code(sandbox, "1+1")).values[0]?.data["text/plain"]).toBe("2");
  expect(Number((await sandbox.usage()).deadline) - Date.now()).toBeLessThan(300_001);
});

it.each([
  ["other limits", { limits: { pids: 100 } }],
  ["limits that must hold", { limits: { pids: 256 } }],
  ["no root", { root: false }],
  ["filters of its own", { nestedFilters: true }],
  ["an end with its process", { ephemeral: true }],
])("a sandbox with %s is made anew", async (_what, options) => {
  await using lab = await openPoolLab();
  const place = await lab.open({ sandboxes: 1 });
  const [id] = await lab.hasWaiting(1);
  expect((await place.create(options)).id).not.toBe(id);
  expect(lab.waiting()).toEqual([id]);
});

it("a sandbox of another version of Belljar is left alone", async () => {
  await using lab = await openPoolLab();
  await lab.open({ sandboxes: 1 });
  const [id] = await lab.hasWaiting(1);
  expect((await (await lab.open({ version: "2" })).create()).id).not.toBe(id);
});

it("the owner's variables and network reach commands and the kernel that waited", async () => {
  await using lab = await openPoolLab();
  const place = await lab.open({ sandboxes: 1 });
  const [id] = await lab.hasWaiting(1);
  const sandbox = await place.create({ env: { MINE: "yes" } });
  expect(sandbox.id).toBe(id);
  const [kept] = await sandbox.guest.listKept(soon());
  expect(await shell(sandbox, "printf $MINE")).toBe("yes");
  const seen = "import os\n(os.getpid(), os.environ['MINE'], os.popen('printf $MINE').read())";
  expect((await code(sandbox, seen)).values[0]?.data["text/plain"]).toBe(`(${kept?.pid}, 'yes', 'yes')`);
  expect((await code(sandbox, "os.environ['MINE']")).values[0]?.data["text/plain"]).toBe("'yes'");
});

it("a JavaScript kernel waits too, and one that would not see the certificates of its network is started anew", async () => {
  await using lab = await openPoolLab();
  const place = await lab.open({ sandboxes: 2, languages: ["python", "javascript"] });
  await lab.hasWaiting(2);
  const [plain, other] = [await place.create({ env: { MINE: "yes" } }), await place.create({ env: { NODE_EXTRA_CA_CERTS: "/x" } })];
  const pids = await Promise.all([plain, other].map(({ guest }) => guest.listKept(soon())));
  expect(pids.map((kept) => kept.map(({ name }) => name).toSorted())).toEqual([
    ["context-javascript", "context-python"],
    ["context-python"],
  ]);
  const seen = await code(plain, "[process.env.MINE, process.pid].join()", "javascript");
  expect(seen.values[0]?.data["text/plain"]).toBe(`'yes,${pids[0]?.find(({ name }) => name === "context-javascript")?.pid}'`);
  expect(seen).toMatchObject({ isFresh: true, executionCount: 1 });
});

it("a kernel that would not see a variable is started anew", async () => {
  await using lab = await openPoolLab();
  const place = await lab.open({ sandboxes: 1 });
  const [id] = await lab.hasWaiting(1);
  const sandbox = await place.create({ env: { TZ: "Asia/Tokyo", PYTHONOPTIMIZE: "1" } });
  expect(sandbox.id).toBe(id);
  expect(await sandbox.guest.listKept(soon())).toEqual([]);
  const result = await code(sandbox, "import sys, time\n(sys.flags.optimize, time.tzname[0])");
  expect(result.values[0]?.data["text/plain"]).toBe("(1, 'JST')");
});

it("what fails before the claim leaves the sandbox to the next one, and only what was claimed counts", async () => {
  await using lab = await openPoolLab();
  const place = await lab.open({ sandboxes: 2, quotas: { sandboxes: 1 } });
  const ids = await lab.hasWaiting(2);
  const first = await place.create();
  const [left] = await lab.hasWaiting(2).then((now) => now.filter((id) => ids.includes(id)));
  expect(ids).toContain(first.id);
  await expect(place.create()).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
  expect(lab.waiting()).toContain(left);
  expect(ids).toContain((await place.create({}, OTHER)).id);
});

it("one that ended while it waited is given to nobody, and nothing of it is left", async () => {
  await using lab = await openPoolLab();
  const [, other] = [await lab.open({ sandboxes: 1 }), await lab.open({})];
  const [id = ""] = await lab.hasWaiting(1);
  const runtime = await lab.home.open("auto");
  const inside = await runtime.layers.describe({ template: "base" });
  const running = await runtime.open({ id, generation: 1, folder: join(lab.home.path, "sandboxes", id), inside });
  await running?.extend(new Date(1), "kill");
  await running?.ended;
  const sandbox = await other.create();
  expect(sandbox.id).not.toBe(id);
  expect(await shell(sandbox, "echo lives")).toBe("lives\n");
  await other.sandboxes.sweep();
  expect(lab.folders()).not.toContain(id);
});

it("a process that closes takes those with it that nobody has claimed", async () => {
  await using lab = await openPoolLab();
  const [place, other] = [await lab.open({ sandboxes: 2 }), await lab.open({})];
  await lab.hasWaiting(2);
  const sandbox = await other.create();
  await place[Symbol.asyncDispose]();
  expect(lab.waiting()).toEqual([]);
  expect(lab.folders()).toEqual([sandbox.id]);
  expect(await shell(sandbox, "echo lives")).toBe("lives\n");
  expect(place.problems).toEqual([]);
});

it("tokens without a sandbox are passed over, and swept", async () => {
  await using lab = await openPoolLab();
  const [place, other] = [await lab.open({ sandboxes: 1 }), await lab.open({})];
  const [id = ""] = await lab.hasWaiting(1);
  const folder = join(lab.home.path, "sandboxes", id);
  expect((await place.create()).id).toBe(id);
  expect(existsSync(join(folder, "claimed"))).toBe(true);
  expect(readdirSync(folder)).toContain("sandbox.json");
  await lab.hasWaiting(1);
  for (const next of lab.waiting()) rmSync(join(lab.home.path, "sandboxes", next, "waiting.json"));
  await other.sandboxes.sweep();
  expect(lab.waiting()).toHaveLength(1);
});
