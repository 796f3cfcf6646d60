import type { Sandbox } from "e2b";
import { expect } from "vitest";
import type { Method } from "./trial.ts";

const decoder = new TextDecoder();

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
  readonly kill: () => Promise<boolean>;
  readonly heard: (text: string) => Promise<void>;
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
