import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../support/tool-caller.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";

it("answers output and exit code, and takes a non-zero exit as a result", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("run_command", { command: "echo out; echo err >&2; exit 4" });
  expect(result.isError).toBeUndefined();
  expect(result.value).toMatchObject({
    stdout: "out\n",
    stderr: "err\n",
    exit_code: 4,
    signal: null,
    timed_out: false,
    truncated: false,
  });
  expect(textOf(result)).toMatch(/^out\n--- stderr ---\nerr\n\[exit_code: 4, duration_ms: \d+\]$/);
});

it("keeps files between calls in the caller's default sandbox", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "echo kept > a.txt" });
  expect(await tools.call("run_command", { command: "cat a.txt" })).toMatchObject({ value: { stdout: "kept\n" } });
});

it("runs in the sandbox that is named", async () => {
  await using tools = await openToolCaller();
  const { id } = await tools.sandboxes.create(LOCAL, { env: { WHO: "other" } }, new AbortController().signal);
  expect(await tools.call("run_command", { command: "echo $WHO", sandbox: id })).toMatchObject({
    value: { stdout: "other\n" },
  });
  expect(textOf(await tools.call("run_command", { command: "true", sandbox: "unknown" }))).toMatch(/^SANDBOX_NOT_FOUND: /);
});

it("starts where and with what the caller says", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "mkdir -p sub" });
  const result = await tools.call("run_command", { command: 'basename "$PWD"; echo "$A"', cwd: "sub", env: { A: "a b" } });
  expect(result.value).toMatchObject({ stdout: "sub\na b\n" });
});

it("gives the command no input", async () => {
  await using tools = await openToolCaller();
  expect(await tools.call("run_command", { command: "cat; echo end" })).toMatchObject({ value: { stdout: "end\n" } });
});

it("does not wait for what it leaves in the background", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("run_command", { command: "sleep 600 & echo started" });
  expect(result.value).toMatchObject({ stdout: "started\n", exit_code: 0 });
});

it("keeps both ends of a long output", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("run_command", { command: "seq 1 100000" });
  expect(result.value).toMatchObject({
    truncated: true,
    stdout: expect.stringMatching(/^1\n2\n[\s\S]*bytes cut[\s\S]*99999\n100000\n$/),
  });
  expect(textOf(result).length).toBeLessThan(70_000);
  expect(textOf(result)).toContain("truncated: true");
});

it.each([
  [{}, "command: "],
  [{ command: "" }, "command: "],
  [{ command: "x\0y" }, "command: must not hold a NUL byte"],
  [{ command: "x".repeat(131_072) }, "command: must have at most 131071 bytes"],
  [{ command: "true", env: { "A=B": "c" } }, "env"],
  [{ command: "true", timeout_ms: 0 }, "timeout_ms: "],
  [{ command: "true", timeout_ms: 3_600_001 }, "timeout_ms: "],
  [{ command: "true", cwd: "a\0b" }, "cwd: must not hold a NUL byte"],
])("refuses %j", async (args, problem) => {
  await using tools = await openToolCaller();
  const result = await tools.call("run_command", args);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toContain(problem);
});

it("takes the longest command that Linux takes", async () => {
  await using tools = await openToolCaller();
  const result = await tools.call("run_command", { command: `true ${"x".repeat(131_066)}` });
  expect(result.value).toMatchObject({ exit_code: 0 });
});

it("tells of a missing folder", async () => {
  await using tools = await openToolCaller();
  expect(textOf(await tools.call("run_command", { command: "true", cwd: "missing" }))).toMatch(/^FILE_NOT_FOUND: /);
});
