import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fakeRuntime } from "../../../src/runtime/fake/fake-runtime.ts";
import type { Runtime } from "../../../src/runtime/contract/runtime.ts";
import { createSandboxId } from "../../../src/sandbox/sandbox-id.ts";
import type { Principal } from "../../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { listed } from "../../support/listed.ts";
import { useFakeHome } from "../../support/fake-home.ts";

const OTHER: Principal = { id: "other", name: "other" };
const signal = new AbortController().signal;
const at = useFakeHome();
const { openHome, folderOf, rewriteRecord } = at;

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
    const runtime = fakeRuntime({ host: at.host });
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
    expect(readdirSync(join(at.home, "sandboxes"))).toEqual([]);
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
    await expect(sandboxes.create(LOCAL, { workspace: { path: at.home, mode: "copy" } }, signal)).rejects.toThrow(
      withCode("WORKSPACE_INVALID"),
    );
  });

  it("leaves no sandbox behind if it cannot be noted how its workspace began", async () => {
    const runtime = fakeRuntime({ host: at.host });
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
    expect(readdirSync(join(at.home, "sandboxes"))).toEqual([]);
  });

  it("works in a home of 200 bytes", async () => {
    const long = join(at.home, "x".repeat(200 - at.home.length - 1));
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
    const runtime = fakeRuntime({ host: at.host });
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
