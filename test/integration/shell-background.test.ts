import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../support/tool-caller.ts";
import { createShellSessions } from "../../src/interpreter/lasting/shell-sessions.ts";
import { createCatalog } from "../../src/catalog/catalog.ts";
import { fixedTools } from "../../src/catalog/tool-source.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { shellTools } from "../../src/tools/shell/shell-tools.ts";
import { LateCommands } from "../../src/tools/shell/late-commands.ts";

type Tools = Awaited<ReturnType<typeof openToolCaller>>;
const WAIT_MS = 8_000;

async function start(tools: Tools, command: string, options: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const { value } = await tools.call("run_background", { command, ...options });
  expect(value).toMatchObject({ state: "running", exit_code: null, pid: expect.any(Number) });
  return String(value["process_id"]);
}

/** All output up to the end of the process. */
async function follow(tools: Tools, processId: string): Promise<string> {
  let text = "";
  let offset = 0;
  while (true) {
    const result = await tools.call("process_output", { process_id: processId, offset, wait_ms: WAIT_MS });
    expect(result.isError, textOf(result)).toBeUndefined();
    const { output, next_offset: next, state } = result.value as { output: string; next_offset: number; state: string };
    text += output;
    if (state === "exited" && next === offset) return text;
    offset = next;
  }
}

it("goes on after its call, and tells its output and exit code", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, "echo one; echo two >&2; exit 7");
  expect(await follow(tools, id)).toBe("one\ntwo\n");
  const result = await tools.call("process_output", { process_id: id });
  expect(result.value).toMatchObject({
    state: "exited",
    exit_code: 7,
    output: "one\ntwo\n",
    offset: 0,
    next_offset: 8,
    total_bytes: 8,
  });
  expect(textOf(result)).toMatch(
    /^one\ntwo\n\[process_id: \w+, state: exited, exit_code: 7, pid: \d+, offset: 0, next_offset: 8, total_bytes: 8\]$/,
  );
});

it("tells the end of a command that pkill -f has ended by its text", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, "echo up; while :; do sleep 600; done # a-mark-of-its-own");
  await tools.call("process_output", { process_id: id, offset: 0, wait_ms: WAIT_MS });
  await tools.call("run_command", { command: "pkill -f a-mark-of-its-ow[n]" });
  const ended = await tools.call("process_output", { process_id: id, offset: 3, wait_ms: WAIT_MS });
  expect(ended.value).toMatchObject({ state: "exited", exit_code: 143 });
});

it("starts where and with what the caller says", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", { command: "mkdir -p sub" });
  const id = await start(tools, 'basename "$PWD"; echo "$A|$B"', { cwd: "sub", env: { A: "a b", B: "-n" } });
  expect(await follow(tools, id)).toBe("sub\na b|-n\n");
});

it("shows output that ends in no line as soon as it comes", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, "printf 'name? '; read name; echo hello $name");
  expect(await tools.call("process_output", { process_id: id, offset: 0, wait_ms: WAIT_MS })).toMatchObject({
    value: { output: "name? ", state: "running", next_offset: 6 },
  });
  await tools.call("process_input", { process_id: id, text: "you\n" });
  expect(await follow(tools, id)).toBe("name? hello you\n");
});

it("closes the input of a process", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, "cat; echo end");
  expect(await tools.call("process_input", { process_id: id, text: "text\n", close: true })).toMatchObject({
    value: { process_id: id, bytes_written: 5, closed: true },
  });
  expect(await follow(tools, id)).toBe("text\nend\n");
  expect(textOf(await tools.call("process_input", { process_id: id, text: "more" }))).toMatch(/^PROCESS_NOT_FOUND: .*has ended/);
});

it("tells of input that nobody reads", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, "sleep 600");
  expect((await tools.call("process_input", { process_id: id, text: "x".repeat(65_536) })).isError).toBeUndefined();
  expect(textOf(await tools.call("process_input", { process_id: id, text: "y".repeat(10) }))).toMatch(/^EXEC_TIMEOUT: .*does not read/);
});

it("reads from any offset, in parts that split no character", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, "printf 'a€😀'");
  await follow(tools, id);
  await tools.call("process_output", { process_id: id });
  const big = await start(tools, "yes 'ü€😀' | head -c 100000");
  let text = "";
  await follow(tools, big);
  for (let offset = 0; ;) {
    const { value } = await tools.call("process_output", { process_id: big, offset, max_bytes: 9_999 });
    const { output, next_offset: next } = value as { output: string; next_offset: number };
    if (output === "") break;
    text += output;
    offset = next;
  }
  expect(text).toBe("ü€😀\n".repeat(10_000));
  expect(await tools.call("process_output", { process_id: big, offset: 5_000_000 })).toMatchObject({
    value: { output: "", offset: 100_000 },
  });
});

it("tells that it left out lines that were written over", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, String.raw`printf 'one\rtwo\rthree\r'`);
  await follow(tools, id);
  const shown = textOf(await tools.call("process", { action: "output", process_id: id }));
  expect(shown).toMatch(/^three\n\[.*, overwritten lines left out; raw: true shows them\]$/);
  const raw = textOf(await tools.call("process_output", { process_id: id, raw: true }));
  expect(raw).toMatch(/^one\rtwo\rthree\r\n\[.*total_bytes: 14\]$/);
});

it("keeps the newest output of a process that prints without end", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, "seq 1 3000000");
  const first = await tools.call("process_output", { process_id: id, offset: 0, wait_ms: WAIT_MS });
  expect(first.isError).toBeUndefined();
  await tools.call("run_command", { command: `while [ ! -e ../../var/tmp/.belljar/processes/${id}/exit ]; do sleep 0.05; done` });
  const result = await tools.call("process_output", { process_id: id, max_bytes: 16 });
  expect(result.value).toMatchObject({ output: "99\n2999999\n3000000\n".slice(-16), total_bytes: 22_888_896, lost_bytes: 0 });
  const lost = await tools.call("process_output", { process_id: id, offset: 100, max_bytes: 16 });
  expect(lost.value).toMatchObject({ offset: expect.any(Number), lost_bytes: expect.any(Number) });
  expect(Number(lost.value["lost_bytes"])).toBeGreaterThan(10_000_000);
  const size = await tools.call("run_command", { command: `du -sm ../../var/tmp/.belljar/processes/${id} | cut -f1` });
  expect(Number(size.value["stdout"])).toBeLessThanOrEqual(10);
});

it("stops a process and its children, and kills what does not heed it", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, "sleep 600 & echo $!; wait");
  const { value } = await tools.call("process_output", { process_id: id, offset: 0, wait_ms: WAIT_MS });
  expect(await tools.call("process_stop", { process_id: id })).toMatchObject({
    value: { state: "exited", exit_code: 143, killed: false },
  });
  const child = String(value["output"]).trim();
  const state = await tools.call("run_command", { command: `cut -d' ' -f3 /proc/${child}/stat` });
  expect(["", "Z\n"]).toContain(state.value["stdout"]);
  const stubborn = await start(tools, "trap '' TERM; echo ready; while true; do sleep 1; done");
  await tools.call("process_output", { process_id: stubborn, offset: 0, wait_ms: WAIT_MS });
  expect(await tools.call("process_stop", { process_id: stubborn, grace_ms: 100 })).toMatchObject({
    value: { state: "exited", exit_code: 137, killed: true },
  });
  expect(await tools.call("process_stop", { process_id: stubborn })).toMatchObject({
    value: { state: "exited", killed: false },
  });
});

it("gives a process SIGINT as a terminal would", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, "trap 'echo interrupted; exit 3' INT; echo ready; while true; do sleep 0.1; done");
  await tools.call("process_output", { process_id: id, offset: 0, wait_ms: WAIT_MS });
  expect(await tools.call("process_stop", { process_id: id, signal: "SIGINT" })).toMatchObject({
    value: { exit_code: 3, killed: false },
  });
});

it("lists the processes of a sandbox, those that ended too", async () => {
  await using tools = await openToolCaller();
  expect(textOf(await tools.call("process_list", {}))).toBe('{"processes":[]}');
  const one = await start(tools, "exit 4");
  await follow(tools, one);
  const two = await start(tools, "sleep 600");
  const result = await tools.call("process_list", {});
  expect(result.value).toMatchObject({
    processes: [
      { process_id: one, state: "exited", exit_code: 4, command: "exit 4", cwd: "/home/user" },
      { process_id: two, state: "running", exit_code: null, command: "sleep 600" },
    ],
  });
});

it("finds the processes of an earlier server", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, "read line; echo got $line");
  const config = { execTimeoutMs: 60_000, maxOutputBytes: 1_048_576, listMax: 1_000 };
  await using shells = createShellSessions(config);
  const later = createCatalog({
    sources: [fixedTools(shellTools(shells, new LateCommands(), config))],
    sandboxes: tools.sandboxes,
    defaultSandbox: () => ({ name: "default", options: {} }),
  });
  const signal = new AbortController().signal;
  await later.call(LOCAL, "process_input", { process_id: id, text: "it\n" }, { signal });
  expect(await follow(tools, id)).toBe("got it\n");
});

it("says of a process whose end nobody saw that it is lost", async () => {
  await using tools = await openToolCaller();
  const id = await start(tools, "sleep 600");
  await tools.call("run_command", { command: `kill -9 $(cat ../../var/tmp/.belljar/processes/${id}/pids)` });
  const list = async () => (await tools.call("process_list", {})).value["processes"] as readonly { readonly state: string }[];
  let seen = await list();
  // A kill says nothing of when its process is gone.
  while (seen[0]?.state === "running") seen = await list();
  expect(seen).toMatchObject([{ state: "lost", exit_code: null }]);
});

it("takes nothing on trust that a program wrote into its folders", async () => {
  await using tools = await openToolCaller();
  await tools.call("run_command", {
    command: [
      "mkdir -p ../../var/tmp/.belljar/processes/aaaaaaaaaa ../../var/tmp/.belljar/processes/bbbbbbbbbb/record.json",
      "cd ../../var/tmp/.belljar/processes/aaaaaaaaaa",
      'echo \'{"command":"x","cwd":"/","started_at":"then"}\' > record.json; echo \'x y\' > pids; echo 9999999 > exit',
      "mkfifo out.0; ln -s /etc/passwd out.1; echo tail > out.999999999",
    ].join("\n"),
  });
  expect(await tools.call("process_list", {})).toMatchObject({
    value: { processes: [{ process_id: "aaaaaaaaaa", state: "lost", pid: null }] },
  });
  const result = await tools.call("process_output", { process_id: "aaaaaaaaaa" });
  expect(result.value).toMatchObject({ output: "tail\n", state: "lost" });
});

it("stops waiting when its caller goes away or its sandbox ends", async () => {
  await using tools = await openToolCaller();
  const sandbox = await tools.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const id = await start(tools, "sleep 600", { sandbox: sandbox.id });
  const wait = { process_id: id, sandbox: sandbox.id, offset: 0, wait_ms: 60_000 };
  const controller = new AbortController();
  const cancelled = tools.call("process_output", wait, { signal: controller.signal });
  const waiting = tools.call("process_output", wait);
  controller.abort();
  expect(textOf(await cancelled)).toMatch(/^CANCELLED: /);
  await sandbox.kill();
  expect(textOf(await waiting)).toMatch(/^SANDBOX_ENDED: /);
});

it.each([
  ["run_background", {}, "command: "],
  ["run_background", { command: "x\0y" }, "command: must not hold a NUL byte"],
  ["run_background", { command: "true", cwd: "missing" }, "FILE_NOT_FOUND: "],
  ["run_background", { command: "true", env: { "A=B": "c" } }, "env"],
  ["run_background", { command: "true", sandbox: "unknown" }, "SANDBOX_NOT_FOUND: "],
  ["process_output", { process_id: "aaaaaaaaaa" }, "PROCESS_NOT_FOUND: "],
  ["process_output", { process_id: "../../../etc" }, "PROCESS_NOT_FOUND: "],
  ["process_output", { process_id: "aaaaaaaaaa", offset: -1 }, "offset: "],
  ["process_output", { process_id: "aaaaaaaaaa", wait_ms: 60_001 }, "wait_ms: "],
  ["process_input", { process_id: "aaaaaaaaaa", text: "x" }, "PROCESS_NOT_FOUND: "],
  ["process_input", { process_id: "aaaaaaaaaa", text: "x".repeat(65_537) }, "text: must have at most 65536 bytes"],
  ["process_stop", { process_id: "aaaaaaaaaa" }, "PROCESS_NOT_FOUND: "],
  ["process_stop", { process_id: "aaaaaaaaaa", signal: "SIGSTOP" }, "signal: "],
])("%s refuses %j", async (name, args, problem) => {
  await using tools = await openToolCaller();
  const result = await tools.call(name, args);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toContain(problem);
});
