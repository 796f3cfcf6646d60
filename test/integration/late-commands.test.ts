import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { LateCommands } from "../../src/tools/shell/late-commands.ts";
import { openToolCaller, textOf } from "../support/tool-caller.ts";

type Tools = Awaited<ReturnType<typeof openToolCaller>>;

interface Call {
  readonly process_id: string;
  readonly offset: number;
  readonly sandbox?: string;
}

/** Runs out of time while it waits for the file `go`. */
async function runLate(tools: Tools, { before = "echo before", after = "echo after; exit 3", ...args }: Readonly<Record<string, string>>) {
  const command = `${before}; mkfifo go; read line <go; ${after}`;
  const result = await tools.call("run_command", { command, timeout_ms: 1_500, ...args });
  const call = JSON.parse(/follow it with process (\{[^{}]*\})/.exec(textOf(result))?.[1] ?? "{}") as Call;
  return { result, call };
}

async function follow(tools: Tools, call: Call) {
  let text = "";
  for (let { offset } = call; ;) {
    const { value, isError } = await tools.call("process", { ...call, offset, wait_ms: 30_000 });
    expect(isError).toBeUndefined();
    text += String(value["output"]);
    if (value["state"] === "exited" && value["next_offset"] === offset) return { ...value, text };
    offset = Number(value["next_offset"]);
  }
}

it("goes on in the background when its time is up, and says how to follow it", async () => {
  await using tools = await openToolCaller();
  const { result, call } = await runLate(tools, { before: "echo before; echo wrong >&2" });
  expect(result.isError).toBeUndefined();
  expect(result.value).toMatchObject({ stdout: "before\n", stderr: "wrong\n", exit_code: null, timed_out: true, duration_ms: 1_500 });
  expect(result.value["process_id"]).toBe(call.process_id);
  expect(textOf(result)).toMatch(
    /^before\n--- stderr ---\nwrong\n\[duration_ms: 1500, timed_out: true, process_id: \w{10}, it goes on in the background while this server runs; follow it with process \{"action":"output","process_id":"\w{10}","offset":13\}\]$/,
  );
  expect((await tools.call("process_list", {})).value).toMatchObject({
    processes: [{ process_id: call.process_id, state: "running", command: expect.stringMatching(/^echo before/) }],
  });
  await tools.call("run_command", { command: "echo >go" });
  expect(await follow(tools, call)).toMatchObject({ text: "after\n", exit_code: 3, lost_bytes: 0 });
  expect(await follow(tools, { ...call, offset: 0 })).toMatchObject({ text: "before\nwrong\nafter\n", total_bytes: 19 });
});

it("names its sandbox in the call that follows it", async () => {
  await using tools = await openToolCaller();
  const { id } = await tools.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const { call } = await runLate(tools, { sandbox: id });
  expect(call).toMatchObject({ sandbox: id });
  await tools.call("run_command", { command: "echo >go", sandbox: id });
  expect(await follow(tools, call)).toMatchObject({ text: "after\n", exit_code: 3 });
});

it("loses nothing of a long output, whose newest part is kept", async () => {
  await using tools = await openToolCaller();
  const { call } = await runLate(tools, { after: "head -c 30000000 /dev/zero | tr '\\0' x; echo end" });
  await tools.call("run_command", { command: "echo >go" });
  const end = await follow(tools, { ...call, offset: 29_999_000 });
  expect(end).toMatchObject({ total_bytes: 7 + 30_000_000 + 4, exit_code: 0 });
  expect(end.text).toMatch(/^x+end\n$/);
  expect((await tools.call("process_output", { process_id: call.process_id, offset: 0 })).value["lost_bytes"]).toBeGreaterThan(20_000_000);
}, 120_000);

it("is stopped as other background processes are", async () => {
  await using tools = await openToolCaller();
  const { call } = await runLate(tools, {});
  const stopped = await tools.call("process", { action: "stop", process_id: call.process_id });
  expect(stopped.value).toMatchObject({ state: "exited", exit_code: 143, killed: false });
});

it("ends with this server", async () => {
  await using tools = await openToolCaller();
  const { call } = await runLate(tools, { before: "echo $$ >pid" });
  await tools.late[Symbol.asyncDispose]();
  const state = async () => (await tools.call("process_output", { process_id: call.process_id })).value["state"];
  let seen = await state();
  // What carries its output is a process too, and ends meanwhile.
  while (seen === "running") seen = await state();
  expect(seen).toBe("lost");
  expect((await tools.call("run_command", { command: "while kill -0 $(cat pid) 2>/dev/null; do :; done; echo gone" })).value).toMatchObject(
    {
      stdout: "gone\n",
    },
  );
}, 60_000);

it("is killed where 32 background processes run already, and says so", async () => {
  await using tools = await openToolCaller();
  for (let n = 0; n < 32; n += 1) await tools.call("run_background", { command: "exec sleep 600" });
  const { result } = await runLate(tools, { before: "echo $$ >pid; echo before" });
  expect(result.value).toMatchObject({ stdout: "before\n", timed_out: true, process_id: null });
  expect(textOf(result)).toMatch(
    /killed at its time limit: 32 background processes run already; stop one with process {"action":"stop"}\]$/,
  );
  expect((await tools.call("run_command", { command: "while kill -0 $(cat pid) 2>/dev/null; do :; done; echo gone" })).value).toMatchObject(
    {
      stdout: "gone\n",
    },
  );
}, 120_000);

it("counts against the 32 of its sandbox, though a program there removes what tells of it", async () => {
  await using tools = await openToolCaller();
  const leave = () => tools.call("run_command", { command: "echo before; exec sleep 600", timeout_ms: 1_000 });
  const forget = () => tools.call("delete_file", { path: "/var/tmp/.belljar/processes", recursive: true });
  for (let left = 0; left < 32; left += 8) {
    const results = await Promise.all(Array.from({ length: 8 }, leave));
    for (const { value } of results) expect(value["process_id"]).toMatch(/^\w{10}$/);
    await forget();
  }
  expect((await tools.call("process_list", {})).value).toMatchObject({ processes: [] });
  const result = await leave();
  expect(result.value).toMatchObject({ stdout: "before\n", timed_out: true, process_id: null });
  expect(textOf(result)).toMatch(
    /killed at its time limit: 32 background processes run already; stop one with process {"action":"stop"}\]$/,
  );
  const { id } = await tools.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const other = await tools.call("run_command", { command: "exec sleep 600", timeout_ms: 1_000, sandbox: id });
  expect(other.value["process_id"]).toMatch(/^\w{10}$/);
}, 180_000);

it("is killed where nothing carries its output in time, and says so", async () => {
  const folder = await mkdtemp(join(tmpdir(), "belljar-late-"));
  await using _folder = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
  await using tools = await openToolCaller({ late: new LateCommands(200) });
  const { id } = await tools.sandboxes.create(LOCAL, { env: { PATH: `${folder}:/usr/bin:/bin` } }, new AbortController().signal);
  // Every bash that starts after this one stops itself.
  const command = `cd ${folder}; printf '#!/bin/sh\\nkill -STOP $$\\n' >new; chmod 755 new; mv new bash; echo $$; exec sleep 600`;
  const result = await tools.call("run_command", { command, timeout_ms: 1_500, sandbox: id });
  expect(result.value).toMatchObject({ stdout: expect.stringMatching(/^\d+\n$/), timed_out: true, process_id: null });
  expect(textOf(result)).toMatch(/killed at its time limit: nothing could carry its output in time\]$/);
  const pid = String(result.value["stdout"]).trim();
  expect((await tools.call("run_command", { command: `while kill -0 ${pid} 2>/dev/null; do :; done; echo gone` })).value).toMatchObject({
    stdout: "gone\n",
  });
}, 60_000);

it("is killed when its caller goes away first", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "mkfifo here" });
  const controller = new AbortController();
  const running = tools.call("run_command", { command: "echo $$ >here; exec sleep 600" }, { signal: controller.signal });
  const pid = String((await tools.call("run_command", { command: "cat here" })).value["stdout"]).trim();
  controller.abort();
  expect(await running).toMatchObject({ isError: true });
  expect((await tools.call("run_command", { command: `while kill -0 ${pid} 2>/dev/null; do :; done; echo gone` })).value).toMatchObject({
    stdout: "gone\n",
  });
}, 60_000);
