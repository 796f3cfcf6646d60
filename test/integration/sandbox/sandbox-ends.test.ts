import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import type { Runtime } from "../../../src/runtime/contract/runtime.ts";
import { createSandboxId } from "../../../src/sandbox/sandbox-id.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { listed } from "../../support/listed.ts";
import { useFakeHome } from "../../support/fake-home.ts";

const signal = new AbortController().signal;
const at = useFakeHome();
const { openHome, folderOf, rewriteRecord } = at;

const deadCreator = { pid: spawnSync("true").pid, startedMs: 1 };
const withCode = (code: string) => expect.objectContaining({ name: "BelljarError", code });

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
    await at.host.get(id)?.ended;
    expect(await sandboxes.info(LOCAL, id)).toMatchObject({ state: "ended", endReason: "deadline" });
  });

  it("clears a sandbox that died with nobody looking", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    rewriteRecord(id, { creator: deadCreator });
    at.host.clear();
    await using next = openHome();
    await next.sweep();
    expect(JSON.parse(readFileSync(join(folderOf(id), "tombstone.json"), "utf8"))).toMatchObject({ reason: "keeper_lost" });
    expect(existsSync(join(folderOf(id), "root"))).toBe(false);
  });

  it("lists it as ended even before a sweep", async () => {
    await using sandboxes = openHome();
    const { id } = await sandboxes.create(LOCAL, {}, signal);
    rewriteRecord(id, { creator: deadCreator });
    at.host.clear();
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
    const old = join(at.home, "sandboxes", `.new-${createSandboxId()}`);
    const young = join(at.home, "sandboxes", `.new-${createSandboxId()}`);
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
    const runtime = fakeRuntime({ host: at.host });
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
    expect(at.host.has(id)).toBe(true);
  });
});
