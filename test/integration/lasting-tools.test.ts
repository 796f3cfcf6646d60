import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { createCatalog } from "../../src/catalog/catalog.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import { openRuntime } from "../../src/runtime/registry.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { gitTools } from "../../src/tools/git/git-tools.ts";
import { createShellSessions } from "../../src/interpreter/lasting/shell-sessions.ts";
import { shellTools } from "../../src/tools/shell/shell-tools.ts";
import { todoTools } from "../../src/tools/todo/todo-tools.ts";
import type { CalledResult } from "../support/tool-caller.ts";
import { textOf, toCalled } from "../support/tool-caller.ts";
import { byName } from "../support/by-name.ts";
import { listed } from "../support/listed.ts";
import { LateCommands } from "../../src/tools/shell/late-commands.ts";

const binary = resolve(import.meta.dirname, "../../native/build/belljar-native");
const WAIT_MS = 20_000;
const signal = new AbortController().signal;
const sandboxConfig = { sandbox: { timeoutMs: 600_000, pids: 64 }, listMax: 100, tombstoneRetentionMs: 600_000 };
const toolLimits = { execTimeoutMs: 60_000, maxOutputBytes: 1_048_576, listMax: 100 };

interface Server extends AsyncDisposable {
  call(name: string, args: unknown): Promise<CalledResult>;
  killAll(): Promise<void>;
}

/** One server on the home; its sandboxes outlive it. */
async function openServer(root: string): Promise<Server> {
  const home = join(root, "home");
  const runtime = await openRuntime("namespace", { home, runtimeDirectory: join(root, "run"), storage: "home", binary });
  const sandboxes = createLocalSandboxes({ home, runtimes: byName(runtime), config: sandboxConfig });
  const shells = createShellSessions(toolLimits);
  const catalog = createCatalog({
    sources: [fixedTools([...shellTools(shells, new LateCommands(), toolLimits), ...todoTools, ...gitTools])],
    sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  return {
    call: (name, args) => catalog.call(LOCAL, name, args, { signal }).then(toCalled),
    async killAll() {
      for (const { id } of await listed(sandboxes, LOCAL, { state: ["running"] })) await (await sandboxes.get(LOCAL, id)).kill();
    },
    async [Symbol.asyncDispose]() {
      await shells[Symbol.asyncDispose]();
      await sandboxes[Symbol.asyncDispose]();
    },
  };
}

function openRoot(): { readonly path: string } & Disposable {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "bj-")));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

it("keeps processes, their output and the todo list when a server ends, and ends its shells", async () => {
  using root = openRoot();
  const first = await openServer(root.path);
  await first.call("todo_write", { todos: [{ id: "1", content: "stay", status: "pending", priority: "low" }] });
  await first.call("shell_run", { command: "A=gone" });
  const started = await first.call("run_background", { command: "echo before; read line; echo got $line; sleep 600", env: { A: "b" } });
  const id = started.value["process_id"];
  expect(await first.call("process_output", { process_id: id, offset: 0, wait_ms: WAIT_MS })).toMatchObject({
    value: { output: "before\n", state: "running" },
  });
  await first[Symbol.asyncDispose]();

  await using second = await openServer(root.path);
  expect(await second.call("process_list", {})).toMatchObject({ value: { processes: [{ process_id: id, state: "running" }] } });
  await second.call("process_input", { process_id: id, text: "input\n" });
  expect(await second.call("process_output", { process_id: id, offset: 7, wait_ms: WAIT_MS })).toMatchObject({
    value: { output: "got input\n" },
  });
  expect(await second.call("process_stop", { process_id: id })).toMatchObject({ value: { state: "exited", exit_code: 143 } });
  expect(textOf(await second.call("run_command", { command: "ps -e -o comm= | grep -c sleep" }))).toMatch(/^0\n/);
  expect(await second.call("todo_read", {})).toMatchObject({ value: { todos: [{ content: "stay" }] } });
  expect(await second.call("shell_run", { command: "echo ${A-none}" })).toMatchObject({
    value: { stdout: "none\n", created: true },
  });
  await second.killAll();
});

it("keeps a shell after an interrupt, and leaves nothing of one that ends", async () => {
  using root = openRoot();
  await using server = await openServer(root.path);
  await server.call("shell_run", { command: "cd /tmp; f() { echo f; }" });
  expect(await server.call("shell_run", { command: "sleep 600; echo never", timeout_ms: 300 })).toMatchObject({
    value: { timed_out: true, exit_code: 130, ended: false, cwd: "/tmp" },
  });
  expect(await server.call("shell_run", { command: "f; sleep 600 & exit 3" })).toMatchObject({
    value: { stdout: "f\n", exit_code: 3, ended: true },
  });
  expect(await server.call("shell_run", { command: "trap '' INT; sh -c 'sleep 600; sleep 600'", timeout_ms: 300 })).toMatchObject({
    value: { timed_out: true, exit_code: null, ended: true },
  });
  await server.killAll();
});

it("keeps the newest output of a flood within its bound", async () => {
  using root = openRoot();
  await using server = await openServer(root.path);
  const { value } = await server.call("run_background", {
    command: "yes 'a long line of output' | head -c 40000000; echo; echo END",
  });
  const id = String(value["process_id"]);
  await server.call("run_command", { command: `while [ ! -e /var/tmp/.belljar/processes/${id}/exit ]; do sleep 0.1; done` });
  expect(await server.call("process_output", { process_id: id, max_bytes: 100 })).toMatchObject({
    value: { state: "exited", exit_code: 0, total_bytes: 40_000_005, output: expect.stringMatching(/\nEND\n$/) },
  });
  const size = await server.call("run_command", { command: `du -sm /var/tmp/.belljar/processes/${id} | cut -f1` });
  expect(Number(size.value["stdout"])).toBeLessThanOrEqual(10);
  await server.killAll();
});

it("works on a repository as the sandbox's own user", async () => {
  using root = openRoot();
  await using server = await openServer(root.path);
  await server.call("run_command", { command: "git init -q -b main work; echo text > work/file" });
  await server.call("git_add", { path: "/home/user/work", all: true });
  const made = await server.call("git_commit", { path: "work", message: "First" });
  expect(made.value, textOf(made)).toMatchObject({
    branch: "main",
    author: "Belljar user <user@belljar.invalid>",
    insertions: 1,
  });
  expect(await server.call("git_clone", { url: "work", path: "/tmp/copy" })).toMatchObject({
    value: { path: "/tmp/copy", branch: "main" },
  });
  await server.killAll();
});
