import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../support/tool-caller.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";

it("keeps folder, variables, functions and options between calls", async () => {
  await using tools = await openToolCaller();
  const first = await tools.call("shell_run", {
    command: "mkdir -p sub; cd sub; A='a b'; export B=c; f() { echo \"f $1 $A\"; }; set -o noglob",
  });
  expect(first.value).toMatchObject({
    session: "main",
    exit_code: 0,
    created: true,
    ended: false,
    cwd: expect.stringMatching(/\/sub$/),
  });
  const second = await tools.call("shell_run", { command: 'f 1; sh -c "echo \\$B"; basename "$PWD"; echo *' });
  expect(second.value).toMatchObject({ stdout: "f 1 a b\nc\nsub\n*\n", stderr: "", created: false });
});

it("keeps sessions apart", async () => {
  await using tools = await openToolCaller();
  await tools.call("shell_run", { session: "one", command: "A=1" });
  const two = await tools.call("shell_run", { session: "two", command: "echo ${A-none}" });
  expect(two.value).toMatchObject({ session: "two", stdout: "none\n", created: true });
});

it.each([
  ["exit code", "(exit 7)", 7],
  ["signal", "sh -c 'kill -9 $$'", 137],
  ["syntax error", "echo 'unclosed", 2],
  ["missing command", "no-such-command-here", 127],
  ["word of loops and functions", "break; continue; true", 0],
])("tells the exact %s and goes on", async (_name, command, exitCode) => {
  await using tools = await openToolCaller();
  expect(await tools.call("shell_run", { command })).toMatchObject({ value: { exit_code: exitCode, ended: false } });
  expect(await tools.call("shell_run", { command: "echo on" })).toMatchObject({ value: { stdout: "on\n", created: false } });
});

it("gives stdout and stderr apart, as text too", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("shell_run", { command: "printf out; printf err >&2; (exit 3)" });
  expect(result.value).toMatchObject({ stdout: "out", stderr: "err", exit_code: 3, truncated: false });
  expect(textOf(result)).toMatch(/^out\n--- stderr ---\nerr\n\[session: main, exit_code: 3, cwd: /);
});

it("gives a command no input and no way to its own channel", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("shell_run", {
    command: "cat; for fd in 3 60 61 62; do [ -e /proc/self/fd/$fd ] && ls -l /proc/self/fd/$fd; done; echo end",
  });
  expect(result.value).toMatchObject({ stdout: expect.not.stringContaining("socket"), exit_code: 0 });
});

it("takes every character of a command as it stands", async () => {
  await using tools = await openToolCaller();
  const command = "cat <<'END'\n'single' \"double\" `tick` $dollar !bang \\ back\tä€😀\nEND";
  expect(await tools.call("shell_run", { command })).toMatchObject({
    value: { stdout: "'single' \"double\" `tick` $dollar !bang \\ back\tä€😀\n" },
  });
});

it("interrupts a command at its time limit and keeps the session", async () => {
  await using tools = await openToolCaller();
  await tools.call("shell_run", { command: "A=kept" });
  const result = await tools.call("shell_run", { command: "echo before; while true; do sleep 1; done; echo never", timeout_ms: 300 });
  expect(result.value).toMatchObject({ stdout: "before\n", exit_code: 130, timed_out: true, ended: false });
  expect(await tools.call("shell_run", { command: "echo $A" })).toMatchObject({ value: { stdout: "kept\n", created: false } });
});

it("says that a session is gone which no interrupt reaches", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("shell_run", { command: "trap '' INT; echo before; sh -c 'sleep 600; sleep 600'", timeout_ms: 300 });
  expect(result.value).toMatchObject({ stdout: "before\n", exit_code: null, cwd: null, timed_out: true, ended: true });
  expect(textOf(result)).toContain("ended: true");
  expect(await tools.call("shell_run", { command: "echo new" })).toMatchObject({ value: { stdout: "new\n", created: true } });
});

it("tells the exit code of a shell that ends, and makes a new one", async () => {
  await using tools = await openToolCaller();
  expect(await tools.call("shell_run", { command: "echo bye; exit 5" })).toMatchObject({
    value: { stdout: "bye\n", exit_code: 5, ended: true, cwd: null },
  });
  expect(await tools.call("shell_run", { command: "true" })).toMatchObject({ value: { created: true } });
});

it("runs two calls on one session one after the other", async () => {
  await using tools = await openToolCaller();
  const calls = ["A=1; sleep 0.1; echo one", "echo two $A", "A=3; echo three"].map((command) => tools.call("shell_run", { command }));
  const results = await Promise.all(calls);
  expect(results.map((result) => result.value["stdout"])).toEqual(["one\n", "two 1\n", "three\n"]);
});

it("refuses more callers than may wait", async () => {
  await using tools = await openToolCaller();
  await tools.call("shell_run", { command: "true" });
  const controller = new AbortController();
  const blocking = tools.call("shell_run", { command: "sleep 600" }, { signal: controller.signal });
  const others = Array.from({ length: 17 }, () => tools.call("shell_run", { command: "true" }));
  expect(textOf(await Promise.race(others))).toMatch(/^PROCESS_LIMIT: /);
  controller.abort();
  expect((await Promise.all([blocking, ...others])).filter(({ isError }) => isError)).toHaveLength(2);
});

it("interrupts the command of a caller that goes away, and lets the next in", async () => {
  await using tools = await openToolCaller();
  await tools.call("shell_run", { command: "A=kept" });
  const controller = new AbortController();
  const cancelled = tools.call(
    "shell_run",
    { command: "echo started; sleep 600" },
    { signal: controller.signal, progress: () => controller.abort() },
  );
  const waiting = tools.call("shell_run", { command: "echo $A" });
  expect(textOf(await cancelled)).toMatch(/^CANCELLED: /);
  expect(await waiting).toMatchObject({ value: { stdout: "kept\n", created: false } });
});

it("keeps both ends of a long output, and none of it for the next call", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("shell_run", { command: "seq 1 100000; seq 1 100000 >&2" });
  const cut = expect.stringMatching(/^1\n2\n[\s\S]*bytes cut[\s\S]*99999\n100000\n$/);
  expect(result.value).toMatchObject({ truncated: true, stdout: cut, stderr: cut });
  expect(await tools.call("shell_run", { command: "true" })).toMatchObject({ value: { stdout: "", stderr: "" } });
});

it("ends a running command with its sandbox", async () => {
  await using tools = await openToolCaller();
  const sandbox = await tools.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const running = tools.call(
    "shell_run",
    { command: "echo started; sleep 600", sandbox: sandbox.id },
    { progress: () => void sandbox.kill() },
  );
  expect(textOf(await running)).toMatch(/^SANDBOX_ENDED: /);
});

it.each([
  [{}, "command: "],
  [{ command: "x\0y" }, "command: must not hold a NUL byte"],
  [{ command: "true", session: "a/b" }, "session: "],
  [{ command: "true", session: "a b" }, "session: "],
  [{ command: "true", timeout_ms: 0 }, "timeout_ms: "],
  [{ command: "true", sandbox: "unknown" }, "SANDBOX_NOT_FOUND"],
])("refuses %j", async (args, problem) => {
  await using tools = await openToolCaller();
  const result = await tools.call("shell_run", args);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toContain(problem);
});
