import type { Sandbox as CodeSandbox } from "@e2b/code-interpreter";
import { Sandbox } from "e2b";
import { expect } from "vitest";
import type { Method, Trial } from "./trial.ts";

/** `Sandbox` of e2b, its static methods by their name with `Sandbox.` in front, those of an object without. */
export const SANDBOX: Readonly<Record<string, Method>> = {
  "Sandbox.create": async ({ make }) => expect(await (await make({ metadata: { a: "b" } })).isRunning()).toBe(true),
  "Sandbox.connect": async ({ sandbox, options }) => {
    const again = await Sandbox.connect(sandbox.sandboxId, options);
    expect((await again.commands.run("echo again")).stdout).toBe("again\n");
  },
  "Sandbox.fork": async ({ sandbox, options }) => {
    await sandbox.files.write("/home/user/forked.txt", "yes");
    const forks = await Sandbox.fork(sandbox.sandboxId, { ...options, count: 2 });
    for (const fork of forks) {
      expect(await forkOf(fork).files.read("/home/user/forked.txt")).toBe("yes");
      await forkOf(fork).kill();
    }
  },
  "Sandbox.list": async ({ make, options }) => {
    const { sandboxId } = await make({ metadata: { found: "by a&b" } });
    const pages = Sandbox.list({ ...options, query: { metadata: { found: "by a&b" } }, limit: 1 });
    expect((await pages.nextItems()).map((one) => one.sandboxId)).toEqual([sandboxId]);
    expect(pages.hasNext).toBe(false);
  },
  "Sandbox.kill": async ({ make, options }) => {
    const { sandboxId } = await make();
    expect(await Sandbox.kill(sandboxId, options)).toBe(true);
    expect(await Sandbox.kill(sandboxId, options)).toBe(false);
  },
  "Sandbox.getInfo": async ({ sandbox, options }) =>
    expect(await Sandbox.getInfo(sandbox.sandboxId, options)).toMatchObject({ sandboxId: sandbox.sandboxId, state: "running" }),
  "Sandbox.getFullInfo": async ({ sandbox, options }) =>
    expect(await Sandbox.getFullInfo(sandbox.sandboxId, options)).toMatchObject({ sandboxId: sandbox.sandboxId }),
  "Sandbox.getMetrics": async ({ sandbox, options }) =>
    expect(await Sandbox.getMetrics(sandbox.sandboxId, options)).toMatchObject([{ cpuCount: expect.any(Number) as number }]),
  "Sandbox.setTimeout": async ({ sandbox, options }) => {
    await Sandbox.setTimeout(sandbox.sandboxId, 900_000, options);
    const { endAt } = await Sandbox.getInfo(sandbox.sandboxId, options);
    expect(endAt.getTime()).toBeGreaterThan(Date.now() + 600_000);
  },
  "Sandbox.updateNetwork": async ({ make, options }) => {
    const { sandboxId } = await make();
    await Sandbox.updateNetwork(sandboxId, { allowInternetAccess: false }, options);
    expect((await Sandbox.getInfo(sandboxId, options)).allowInternetAccess).toBe(false);
  },
  "Sandbox.pause": async (trial) => paused(trial, async ({ sandboxId }, options) => Sandbox.pause(sandboxId, options)),
  "Sandbox.betaPause": async (trial) => paused(trial, async ({ sandboxId }, options) => Sandbox.betaPause(sandboxId, options)),
  "Sandbox.createSnapshot": async ({ sandbox, options }) => {
    const { snapshotId } = await Sandbox.createSnapshot(sandbox.sandboxId, options);
    expect(await Sandbox.deleteSnapshot(snapshotId, options)).toBe(true);
  },
  "Sandbox.listSnapshots": async ({ sandbox, options }) => {
    const { snapshotId } = await Sandbox.createSnapshot(sandbox.sandboxId, options);
    const listed = await Sandbox.listSnapshots({ ...options, sandboxId: sandbox.sandboxId }).nextItems();
    expect(listed.map((one) => one.snapshotId)).toContain(snapshotId);
    await Sandbox.deleteSnapshot(snapshotId, options);
  },
  "Sandbox.deleteSnapshot": async ({ options }) => expect(await Sandbox.deleteSnapshot("none:default", options)).toBe(false),
  connect: async ({ sandbox }) => expect((await sandbox.connect()).sandboxId).toBe(sandbox.sandboxId),
  fork: async ({ sandbox }) => {
    const [fork] = await sandbox.fork();
    expect(await forkOf(fork).kill()).toBe(true);
  },
  getHost: async ({ sandbox, domain }) => expect(sandbox.getHost(3000)).toBe(`3000-${sandbox.sandboxId}.${domain}`),
  isRunning: async ({ sandbox }) => expect(await sandbox.isRunning()).toBe(true),
  setTimeout: async ({ sandbox }) => sandbox.setTimeout(900_000),
  updateNetwork: async ({ make }) => (await make()).updateNetwork({ allowInternetAccess: false }),
  kill: async ({ make }) => {
    const sandbox = await make();
    await sandbox.kill();
    expect(await sandbox.isRunning()).toBe(false);
  },
  pause: async (trial) => paused(trial, (sandbox) => sandbox.pause()),
  betaPause: async (trial) => paused(trial, (sandbox) => sandbox.betaPause()),
  createSnapshot: async ({ sandbox, options }) => {
    const { snapshotId } = await sandbox.createSnapshot();
    const made = await Sandbox.create(snapshotId, options);
    await made.kill();
    await Sandbox.deleteSnapshot(snapshotId, options);
  },
  listSnapshots: async ({ sandbox }) => expect(await sandbox.listSnapshots().nextItems()).toEqual([]),
  getMcpUrl: async ({ sandbox, domain }) => expect(sandbox.getMcpUrl()).toBe(`https://50005-${sandbox.sandboxId}.${domain}/mcp`),
  getMcpToken: async ({ sandbox }) => expect(sandbox.getMcpToken()).rejects.toThrow("does not exist"),
  uploadUrl: async ({ sandbox }) => {
    const form = new FormData();
    form.append("file", "signed up");
    const { status } = await fetch(await sandbox.uploadUrl("/home/user/up.txt", { useSignatureExpiration: 60 }), {
      method: "POST",
      body: form,
    });
    expect([status, await sandbox.files.read("/home/user/up.txt")]).toEqual([200, "signed up"]);
  },
  downloadUrl: async ({ sandbox }) => {
    await sandbox.files.write("/home/user/down.txt", "signed down");
    const answer = await fetch(await sandbox.downloadUrl("/home/user/down.txt", { useSignatureExpiration: 60 }));
    expect([answer.status, await answer.text()]).toEqual([200, "signed down"]);
  },
  getInfo: async ({ sandbox }) => expect((await sandbox.getInfo()).sandboxId).toBe(sandbox.sandboxId),
  getMetrics: async ({ sandbox }) => expect(await sandbox.getMetrics()).toHaveLength(1),
};

function forkOf(fork: Sandbox | Error | undefined): Sandbox {
  if (fork instanceof Sandbox) return fork;
  throw new Error("A fork failed", { cause: fork });
}

/** Where nothing can be frozen the pause is refused, and the sandbox goes on. */
async function paused({ make, options, canFreeze }: Trial, pause: (sandbox: CodeSandbox, options: Trial["options"]) => Promise<boolean>) {
  const sandbox = await make();
  if (!canFreeze) {
    await expect(pause(sandbox, options)).rejects.toThrow(/400/);
    return expect(await sandbox.isRunning()).toBe(true);
  }
  expect(await pause(sandbox, options)).toBe(true);
  expect(await sandbox.isRunning()).toBe(false);
  const again = await Sandbox.connect(sandbox.sandboxId, options);
  expect(await again.isRunning()).toBe(true);
}

export const CODE: Readonly<Record<string, Method>> = {
  runCode: async ({ sandbox }) => {
    await sandbox.runCode("x = 41");
    expect((await sandbox.runCode("x + 1")).text).toBe("42");
    expect((await sandbox.runCode("1 / 0")).error?.name).toBe("ZeroDivisionError");
    expect((await sandbox.runCode("[1, 2].length", { language: "javascript" })).text).toBe("2");
  },
  createCodeContext: async ({ sandbox }) => {
    const context = await sandbox.createCodeContext({ cwd: "/tmp" });
    expect((await sandbox.runCode("import os; os.getcwd()", { context })).text).toBe("/tmp");
  },
  listCodeContexts: async ({ sandbox }) =>
    expect((await sandbox.listCodeContexts()).map(({ language }) => language)).toEqual(expect.arrayContaining(["python", "javascript"])),
  restartCodeContext: async ({ sandbox }) => {
    const context = await sandbox.createCodeContext();
    await sandbox.runCode("kept = 1", { context });
    await sandbox.restartCodeContext(context);
    expect((await sandbox.runCode("kept", { context })).error?.name).toBe("NameError");
  },
  removeCodeContext: async ({ sandbox }) => {
    const context = await sandbox.createCodeContext();
    await sandbox.removeCodeContext(context);
    expect((await sandbox.listCodeContexts()).map(({ id }) => id)).not.toContain(context.id);
  },
};
