import { Sandbox as CodeSandbox } from "@e2b/code-interpreter";
import { Sandbox, Secret, Template, Volume } from "e2b";
import { expect } from "vitest";

/** What a trial of a method has. */
export interface Trial {
  /** One that lives through all trials. */
  readonly sandbox: CodeSandbox;
  readonly options: { readonly apiKey: string; readonly apiUrl: string; readonly sandboxUrl: string };
  /** Whether the server may freeze sandboxes. */
  readonly canFreeze: boolean;
  /** One of its own. */
  make(options?: Readonly<Record<string, unknown>>): Promise<CodeSandbox>;
}

/** What a method does here: a trial that must succeed, or the reason for which it is refused with the trial that shows the refusal. */
export type Method =
  | ((trial: Trial) => Promise<unknown>)
  | { readonly refused: string; readonly trial: (trial: Trial) => Promise<unknown> };

const decoder = new TextDecoder();

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
  getHost: async ({ sandbox, options }) => expect(sandbox.getHost(3000)).toBe(`3000-${sandbox.sandboxId}.${domainOf(options)}`),
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
  getMcpUrl: async ({ sandbox, options }) =>
    expect(sandbox.getMcpUrl()).toBe(`https://50005-${sandbox.sandboxId}.${domainOf(options)}/mcp`),
  getMcpToken: async ({ sandbox }) => expect(await sandbox.getMcpToken()).toBeUndefined(),
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

function domainOf({ apiUrl }: Trial["options"]): string {
  return new URL(apiUrl).host;
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

export const FILES: Readonly<Record<string, Method>> = {
  read: async ({ sandbox }) => {
    await sandbox.files.write("/home/user/read.txt", "hé");
    expect(await sandbox.files.read("/home/user/read.txt")).toBe("hé");
    expect(decoder.decode(await sandbox.files.read("/home/user/read.txt", { format: "bytes" }))).toBe("hé");
  },
  write: async ({ sandbox }) =>
    expect(await sandbox.files.write("new/a.txt", "x")).toMatchObject({ name: "a.txt", path: "/home/user/new/a.txt", type: "file" }),
  writeFiles: async ({ sandbox }) =>
    expect(
      await sandbox.files.writeFiles([
        { path: "m/a", data: "1" },
        { path: "m/b", data: "2" },
      ]),
    ).toHaveLength(2),
  list: async ({ sandbox }) => {
    await sandbox.files.write("l/a/b.txt", "x");
    expect((await sandbox.files.list("l", { depth: 2 })).map(({ path }) => path)).toEqual(["/home/user/l/a", "/home/user/l/a/b.txt"]);
  },
  makeDir: async ({ sandbox }) => expect([await sandbox.files.makeDir("d/e"), await sandbox.files.makeDir("d/e")]).toEqual([true, false]),
  rename: async ({ sandbox }) => {
    await sandbox.files.write("old.txt", "x");
    expect(await sandbox.files.rename("old.txt", "renamed.txt")).toMatchObject({ path: "/home/user/renamed.txt" });
  },
  remove: async ({ sandbox }) => {
    await sandbox.files.write("gone.txt", "x");
    await sandbox.files.remove("gone.txt");
    expect(await sandbox.files.exists("gone.txt")).toBe(false);
  },
  exists: async ({ sandbox }) => expect(await sandbox.files.exists("/etc/passwd")).toBe(true),
  getInfo: async ({ sandbox }) => expect(await sandbox.files.getInfo("/home/user")).toMatchObject({ type: "dir", owner: "user" }),
  watchDir: async ({ sandbox }) => {
    await sandbox.files.makeDir("watched");
    const { promise, resolve } = deferred<string>();
    const handle = await sandbox.files.watchDir("watched", ({ name, type }) => void (type === "create" && resolve(name)));
    await sandbox.files.write("watched/new.txt", "x");
    expect(await promise).toMatch(/new\.txt/);
    await handle.stop();
  },
};

export const WATCH_HANDLE: Readonly<Record<string, Method>> = {
  stop: async ({ sandbox }) => (await sandbox.files.watchDir("/home/user", () => undefined)).stop(),
};

export const COMMANDS: Readonly<Record<string, Method>> = {
  run: async ({ sandbox }) => {
    expect(await sandbox.commands.run("echo out; echo err >&2")).toMatchObject({ exitCode: 0, stdout: "out\n", stderr: "err\n" });
    await expect(sandbox.commands.run("exit 3")).rejects.toMatchObject({ exitCode: 3 });
    expect((await sandbox.commands.run("whoami", { user: "root" })).stdout).toBe("root\n");
  },
  list: async ({ sandbox }) => {
    const { pid, kill } = await background(sandbox, "sleep 1000");
    expect((await sandbox.commands.list()).map((one) => one.pid)).toContain(pid);
    await kill();
  },
  sendStdin: async ({ sandbox }) => {
    const { handle, heard } = await background(sandbox, "cat", { stdin: true });
    await sandbox.commands.sendStdin(handle.pid, "sent\n");
    await heard("sent");
    await handle.kill();
  },
  closeStdin: async ({ sandbox }) => {
    const { handle } = await background(sandbox, "cat; echo end", { stdin: true });
    await sandbox.commands.closeStdin(handle.pid);
    expect((await handle.wait()).stdout).toBe("end\n");
  },
  kill: async ({ sandbox }) => {
    const { pid } = await background(sandbox, "sleep 1000");
    expect([await sandbox.commands.kill(pid), await sandbox.commands.kill(pid)]).toEqual([true, false]);
  },
  connect: async ({ sandbox }) => {
    const { handle } = await background(sandbox, "read line; echo got $line", { stdin: true });
    const again = await sandbox.commands.connect(handle.pid);
    await sandbox.commands.sendStdin(handle.pid, "it\n");
    expect((await again.wait()).stdout).toBe("got it\n");
  },
};

export const COMMAND_HANDLE: Readonly<Record<string, Method>> = {
  wait: async ({ sandbox }) => expect((await (await background(sandbox, "echo waited")).handle.wait()).exitCode).toBe(0),
  disconnect: async ({ sandbox }) => {
    const { handle, pid } = await background(sandbox, "sleep 1000");
    await handle.disconnect();
    expect((await sandbox.commands.list()).map((one) => one.pid)).toContain(pid);
    await sandbox.commands.kill(pid);
  },
  kill: async ({ sandbox }) => expect(await (await background(sandbox, "sleep 1000")).handle.kill()).toBe(true),
  sendStdin: async ({ sandbox }) => {
    const { handle } = await background(sandbox, "read line; echo $line", { stdin: true });
    await handle.sendStdin("by the handle\n");
    expect((await handle.wait()).stdout).toBe("by the handle\n");
  },
  closeStdin: async ({ sandbox }) => {
    const { handle } = await background(sandbox, "cat", { stdin: true });
    await handle.closeStdin();
    expect((await handle.wait()).exitCode).toBe(0);
  },
};

export const PTY: Readonly<Record<string, Method>> = {
  create: async ({ sandbox }) => {
    const { handle, heard } = await terminal(sandbox);
    await sandbox.pty.sendInput(handle.pid, new TextEncoder().encode("tput cols\n"));
    await heard("80");
    await handle.kill();
  },
  connect: async ({ sandbox }) => {
    const { handle } = await terminal(sandbox);
    const again = await sandbox.pty.connect(handle.pid, { onData: () => undefined });
    expect(again.pid).toBe(handle.pid);
    expect(await handle.kill()).toBe(true);
  },
  sendInput: async ({ sandbox }) => {
    const { handle, heard } = await terminal(sandbox);
    await sandbox.pty.sendInput(handle.pid, new TextEncoder().encode("echo $((40 + 2))\n"));
    await heard("42");
    await handle.kill();
  },
  resize: async ({ sandbox }) => {
    const { handle, heard } = await terminal(sandbox);
    await sandbox.pty.resize(handle.pid, { cols: 123, rows: 30 });
    await sandbox.pty.sendInput(handle.pid, new TextEncoder().encode("stty size\n"));
    await heard("30 123");
    await handle.kill();
  },
  kill: async ({ sandbox }) => expect(await sandbox.pty.kill((await terminal(sandbox)).handle.pid)).toBe(true),
};

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

export const SECRETS: Readonly<Record<string, Method>> = {
  "Secret.create": async ({ options }) => expect(await Secret.create("made", "value", options)).toMatchObject({ name: "made" }),
  "Secret.update": async ({ options }) => expect(await Secret.update("made", "other", options)).toMatchObject({ currentVersion: 2 }),
  "Secret.getInfo": async ({ options }) => expect(await Secret.getInfo("made", options)).toMatchObject({ name: "made" }),
  "Secret.list": async ({ options }) => expect((await Secret.list(options).nextItems()).map(({ name }) => name)).toEqual(["made"]),
  "Secret.exists": async ({ options }) => expect(await Secret.exists("made", options)).toBe(true),
  "Secret.destroy": async ({ options }) =>
    expect([await Secret.destroy("made", options), await Secret.destroy("made", options)]).toEqual([true, false]),
};

export const TEMPLATES: Readonly<Record<string, Method>> = {
  "Template.build": async ({ options }) => {
    const template = Template().fromTemplate("base").runCmd("echo built > /home/user/built.txt").setWorkdir("/home/user");
    const { templateId } = await Template.build(template, "tried", options);
    const made = await Sandbox.create("tried", options);
    expect([templateId !== "", await made.files.read("/home/user/built.txt")]).toEqual([true, "built\n"]);
    await made.kill();
  },
  "Template.buildInBackground": async ({ options }) => {
    const info = await Template.buildInBackground(Template().fromTemplate("base").runCmd("true"), "behind", options);
    expect(await settled(info, options)).toBe("ready");
  },
  "Template.getBuildStatus": async ({ options }) => {
    const info = await Template.buildInBackground(Template().fromTemplate("base").runCmd("exit 7"), "failing", options);
    expect(await settled(info, options)).toBe("error");
  },
  "Template.exists": async ({ options }) =>
    expect([await Template.exists("tried", options), await Template.exists("never", options)]).toEqual([true, false]),
  "Template.aliasExists": async ({ options }) => expect(await Template.aliasExists("tried", options)).toBe(true),
  "Template.assignTags": async ({ options }) =>
    expect(await Template.assignTags("tried:default", ["v1"], options)).toMatchObject({ tags: ["v1"] }),
  "Template.getTags": async ({ options }) =>
    expect((await Template.getTags("tried", options)).map(({ tag }) => tag).toSorted()).toEqual(["default", "v1"]),
  "Template.removeTags": async ({ options }) => Template.removeTags("tried", ["v1"], options),
};

async function settled(info: Parameters<typeof Template.getBuildStatus>[0], options: Trial["options"]): Promise<string> {
  for (;;) {
    const { status } = await Template.getBuildStatus(info, options);
    if (status === "ready" || status === "error") return status;
  }
}

export const VOLUMES: Readonly<Record<string, Method>> = {
  "Volume.create": async (trial) => void (await withVolume(trial, "create", async ({ name }) => expect(name).toBe("create"))),
  "Volume.connect": async (trial) =>
    withVolume(trial, "connect", async ({ volumeId, name }) => expect((await Volume.connect(volumeId, trial.options)).name).toBe(name)),
  "Volume.getInfo": async (trial) =>
    withVolume(trial, "info", async ({ volumeId }) =>
      expect(await Volume.getInfo(volumeId, trial.options)).toMatchObject({ volumeId, name: "info" }),
    ),
  "Volume.list": async (trial) =>
    withVolume(trial, "listed", async ({ volumeId }) =>
      expect((await Volume.list(trial.options)).map((one) => one.volumeId)).toContain(volumeId),
    ),
  "Volume.destroy": async ({ options }) => {
    const { volumeId } = await Volume.create("short", options);
    expect([await Volume.destroy(volumeId, options), await Volume.destroy(volumeId, options)]).toEqual([true, false]);
  },
  list: async (trial) =>
    withVolume(trial, "lists", async (volume) => {
      await volume.writeFile("/a.txt", "x");
      expect((await volume.list("/")).map(({ name }) => name)).toEqual(["a.txt"]);
    }),
  makeDir: async (trial) =>
    withVolume(trial, "folders", async (volume) => expect(await volume.makeDir("/a")).toMatchObject({ type: "directory" })),
  getInfo: async (trial) =>
    withVolume(trial, "stats", async (volume) => {
      await volume.writeFile("/a.txt", "four");
      expect(await volume.getInfo("/a.txt")).toMatchObject({ size: 4 });
    }),
  exists: async (trial) => withVolume(trial, "exists", async (volume) => expect(await volume.exists("/none")).toBe(false)),
  updateMetadata: async (trial) =>
    withVolume(trial, "metadata", async (volume) => {
      await volume.writeFile("/a.txt", "x");
      expect(await volume.updateMetadata("/a.txt", { mode: 0o600 })).toMatchObject({ mode: 0o600 });
    }),
  readFile: async (trial) =>
    withVolume(trial, "reads", async (volume) => {
      await volume.writeFile("/a.txt", "read");
      expect(await volume.readFile("/a.txt")).toBe("read");
    }),
  writeFile: async (trial) =>
    withVolume(trial, "writes", async (volume) => expect(await volume.writeFile("/a.txt", "x")).toMatchObject({ type: "file" })),
  remove: async (trial) =>
    withVolume(trial, "removes", async (volume) => {
      await volume.writeFile("/a.txt", "x");
      await volume.remove("/a.txt");
      expect(await volume.exists("/a.txt")).toBe(false);
    }),
};

async function withVolume({ options }: Trial, name: string, use: (volume: Volume) => Promise<unknown>): Promise<unknown> {
  const volume = await Volume.create(name, options);
  try {
    return await use(volume);
  } finally {
    await Volume.destroy(volume.volumeId, options);
  }
}

/** Git runs in the sandbox: these are commands and files, with a repository of its own as the other side. */
export const GIT: Readonly<Record<string, Method>> = {
  init: async ({ sandbox }) => sandbox.git.init("/home/user/repo", { initialBranch: "main" }),
  configureUser: async ({ sandbox }) => sandbox.git.configureUser("Agent", "agent@example.com"),
  setConfig: async ({ sandbox }) => sandbox.git.setConfig("core.pager", "cat"),
  getConfig: async ({ sandbox }) => expect(await sandbox.git.getConfig("core.pager")).toBe("cat"),
  add: async ({ sandbox }) => {
    await sandbox.files.write("repo/a.txt", "one\n");
    await sandbox.git.add(REPO);
  },
  commit: async ({ sandbox }) => sandbox.git.commit(REPO, "first"),
  status: async ({ sandbox }) => expect(await sandbox.git.status(REPO)).toMatchObject({ currentBranch: "main" }),
  createBranch: async ({ sandbox }) => sandbox.git.createBranch(REPO, "next"),
  branches: async ({ sandbox }) => expect((await sandbox.git.branches(REPO)).branches).toEqual(expect.arrayContaining(["main", "next"])),
  checkoutBranch: async ({ sandbox }) => sandbox.git.checkoutBranch(REPO, "main"),
  deleteBranch: async ({ sandbox }) => sandbox.git.deleteBranch(REPO, "next", { force: true }),
  remoteAdd: async ({ sandbox }) => {
    await sandbox.commands.run("git init --bare -b main /home/user/other.git");
    await sandbox.git.remoteAdd(REPO, "origin", "/home/user/other.git");
  },
  remoteGet: async ({ sandbox }) => expect(await sandbox.git.remoteGet(REPO, "origin")).toBe("/home/user/other.git"),
  push: async ({ sandbox }) => sandbox.git.push(REPO, { remote: "origin", branch: "main", setUpstream: true }),
  pull: async ({ sandbox }) => sandbox.git.pull(REPO, { remote: "origin", branch: "main" }),
  clone: async ({ sandbox }) => sandbox.git.clone("/home/user/other.git", { path: "/home/user/clone" }),
  restore: async ({ sandbox }) => {
    await sandbox.files.write("repo/a.txt", "two\n");
    await sandbox.git.restore(REPO, { paths: ["a.txt"] });
    expect(await sandbox.files.read("repo/a.txt")).toBe("one\n");
  },
  reset: async ({ sandbox }) => sandbox.git.reset(REPO, { mode: "hard" }),
  dangerouslyAuthenticate: async ({ sandbox }) =>
    sandbox.git.dangerouslyAuthenticate({ username: "u", password: "p", host: "git.example.com" }),
};

const REPO = "/home/user/repo";

interface Background {
  readonly handle: Awaited<ReturnType<typeof startBackground>>;
  readonly pid: number;
  kill(): Promise<boolean>;
  heard(text: string): Promise<void>;
}

async function background(sandbox: Sandbox, command: string, options: { readonly stdin?: boolean } = {}): Promise<Background> {
  const ear = createEar();
  const handle = await startBackground(sandbox, command, { ...options, onStdout: ear.hear });
  return { handle, pid: handle.pid, kill: () => handle.kill(), heard: ear.heard };
}

function startBackground(
  sandbox: Sandbox,
  command: string,
  options: { readonly stdin?: boolean; readonly onStdout: (text: string) => void },
) {
  return sandbox.commands.run(command, { ...options, background: true });
}

async function terminal(sandbox: Sandbox) {
  const ear = createEar();
  const handle = await sandbox.pty.create({ cols: 80, rows: 24, onData: (data) => ear.hear(decoder.decode(data)) });
  return { handle, heard: ear.heard };
}

/** Resolves once a text was heard. */
function createEar() {
  let all = "";
  const waiting: { readonly text: string; readonly resolve: () => void }[] = [];
  return {
    hear: (text: string): void => {
      all += text;
      for (const one of waiting) if (all.includes(one.text)) one.resolve();
    },
    heard: (text: string): Promise<void> =>
      new Promise((resolve) => (all.includes(text) ? resolve() : void waiting.push({ text, resolve }))),
  };
}

function deferred<Value>() {
  let resolve: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((done) => (resolve = done));
  return { promise, resolve };
}
