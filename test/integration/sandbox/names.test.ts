import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FakeHost } from "../../../src/runtime/fake/fake-runtime.ts";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import { createLocalSandboxes } from "../../../src/sandbox/local-sandboxes.ts";
import type { Principal } from "../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { byName } from "../../support/by-name.ts";

const OTHER: Principal = { id: "other", name: "other" };
const config = { sandbox: { timeoutMs: 3_600_000, memoryBytes: 2 ** 25, cpus: 1, pids: 10 }, listMax: 100, tombstoneRetentionMs: 60_000 };
const signal = new AbortController().signal;

let home: string;
let host: FakeHost;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "belljar-home-"));
  host = new Map();
});
afterEach(async () => {
  await Promise.all([...host.values()].map((sandbox) => sandbox.finish("killed")));
  rmSync(home, { recursive: true });
});

/** One process of Belljar on the home. */
function openHome() {
  return createLocalSandboxes({ home, runtimes: byName(fakeRuntime({ host, limits: ["memoryBytes", "pids"] })), config });
}

const withCode = (code: string, text = "") =>
  expect.objectContaining({ name: "BelljarError", code, message: expect.stringContaining(text) as string });

/** Another sandbox on disk whose id is this one. */
function makeTwin(id: string, twin: string): void {
  const folder = (name: string) => join(home, "sandboxes", name);
  mkdirSync(folder(twin));
  writeFileSync(join(folder(twin), "sandbox.json"), readFileSync(join(folder(id), "sandbox.json"), "utf8").replaceAll(id, twin));
}

describe("a name", () => {
  it("stands for the id in another process too, and is shown", async () => {
    await using maker = openHome();
    await using user = openHome();
    const { id } = await maker.create(LOCAL, { name: "web-1" }, signal);
    expect((await user.get(LOCAL, "web-1")).id).toBe(id);
    expect(await user.info(LOCAL, "web-1")).toMatchObject({ id, name: "web-1", state: "running" });
  });

  it("is one live sandbox's of an owner: another owner has it too, and knows nothing of the first", async () => {
    await using maker = openHome();
    await using second = openHome();
    const { id } = await maker.create(LOCAL, { name: "web" }, signal);
    await expect(second.get(OTHER, "web")).rejects.toThrow(withCode("SANDBOX_NOT_FOUND"));
    await expect(second.create(LOCAL, { name: "web" }, signal)).rejects.toThrow(withCode("SANDBOX_NAME_TAKEN", id));
    expect(readdirSync(join(home, "sandboxes"))).toEqual([id]);
    const other = await second.create(OTHER, { name: "web" }, signal);
    expect((await second.get(OTHER, "web")).id).toBe(other.id);
    expect((await maker.get(LOCAL, "web")).id).toBe(id);
  });

  it("is an agent's own project's alone", async () => {
    await using sandboxes = openHome();
    const agent = (folder: string): Principal => ({ ...LOCAL, project: { folder, sees: "own" } });
    await sandboxes.create(agent("/a"), { name: "web" }, signal);
    await expect(sandboxes.get(agent("/b"), "web")).rejects.toThrow(withCode("SANDBOX_NOT_FOUND"));
    expect((await sandboxes.info(LOCAL, "web")).project).toBe("/a");
  });

  it("goes to at most one of two that are made at once", async () => {
    await using one = openHome();
    await using two = openHome();
    const made = await Promise.allSettled([one, two].map((sandboxes) => sandboxes.create(LOCAL, { name: "web" }, signal)));
    expect(made.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(1);
    const refusals = made.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    expect(refusals).toEqual(refusals.map(() => withCode("SANDBOX_NAME_TAKEN")));
  });

  it("is free again once its sandbox has ended, which it still names until then", async () => {
    await using sandboxes = openHome();
    const first = await sandboxes.create(LOCAL, { name: "web" }, signal);
    await first.kill();
    await expect(sandboxes.get(LOCAL, "web")).rejects.toThrow(withCode("SANDBOX_ENDED", first.id));
    const next = await sandboxes.create(LOCAL, { name: "web" }, signal);
    expect((await sandboxes.get(LOCAL, "web")).id).toBe(next.id);
    await next.kill();
    const { id, state } = await sandboxes.info(LOCAL, "web");
    expect([id, state]).toEqual([next.id, "ended"]);
  });

  it("stays a stopped sandbox's", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, { name: "web" }, signal);
    await (await sandboxes.get(LOCAL, id)).stop();
    await expect(sandboxes.create(LOCAL, { name: "web" }, signal)).rejects.toThrow(withCode("SANDBOX_NAME_TAKEN"));
  });

  it.each(["", "a b", "../x", "-a", "a".repeat(64), "a".repeat(20), "events", "é", "a/b", "a:b"])("is not %j", async (name) => {
    await using sandboxes = openHome();
    await expect(sandboxes.create(LOCAL, { name }, signal)).rejects.toThrow(withCode("ARGUMENTS_INVALID", "name"));
    expect(readdirSync(join(home, "sandboxes"))).toEqual([]);
  });
});

describe("the beginning of an id", () => {
  it("stands for it as long as it is of one sandbox, and those that may be meant are named", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, { name: "frontend" }, signal);
    for (const length of [1, 5, 8, 19]) expect((await sandboxes.get(LOCAL, id.slice(0, length))).id).toBe(id);
    const twin = id.slice(0, 10) + (id[10] === "x" ? "y" : "x") + id.slice(11);
    makeTwin(id, twin);
    const several = sandboxes.get(LOCAL, id.slice(0, 10));
    await expect(several).rejects.toThrow(withCode("ARGUMENTS_INVALID", `${id} (frontend)`));
    await expect(several).rejects.toThrow(withCode("ARGUMENTS_INVALID", twin));
    expect((await sandboxes.get(LOCAL, id.slice(0, 11))).id).toBe(id);
  });

  it("means one that lives rather than one that has ended", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    const ended = id.slice(0, 10) + (id[10] === "x" ? "y" : "x") + id.slice(11);
    makeTwin(id, ended);
    const tombstone = { reason: "killed", at: new Date().toISOString(), isCleared: true };
    writeFileSync(join(home, "sandboxes", ended, "tombstone.json"), JSON.stringify(tombstone));
    expect((await sandboxes.get(LOCAL, id.slice(0, 10))).id).toBe(id);
  });

  it("gives way to a name, unless it is a whole short id: then both are named", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    const short = await sandboxes.create(LOCAL, { name: id.slice(0, 3) }, signal);
    expect((await sandboxes.get(LOCAL, id.slice(0, 3))).id).toBe(short.id);
    await sandboxes.create(LOCAL, { name: id.slice(0, 8) }, signal);
    await expect(sandboxes.get(LOCAL, id.slice(0, 8))).rejects.toThrow(withCode("ARGUMENTS_INVALID", id));
  });

  it("names nothing of another owner's", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    for (const length of [1, 8, 20]) await expect(sandboxes.get(OTHER, id.slice(0, length))).rejects.toThrow(withCode("SANDBOX_NOT_FOUND"));
  });
});
