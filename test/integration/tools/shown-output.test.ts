import { expect, it } from "vitest";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openToolCaller, textOf } from "../../support/tool-caller.ts";

const LINES = 20_000;
const PRINT = `seq -f 'line %g' 1 ${LINES}`;
const CALL = /, read on with (read_file|read_result) (\{[^{}]*\})\]$/;

type Caller = Awaited<ReturnType<typeof openToolCaller>>;

/** Makes the call that the last line of a cut output names. */
async function readOn(caller: Caller, text: string) {
  const [, name = "", args = ""] = CALL.exec(text) ?? [];
  return caller.call(name, JSON.parse(args));
}

it.each([
  ["run_command", { command: PRINT }],
  ["shell_run", { command: PRINT }],
])("%s shows both ends of a long output, and keeps all of it in a file of the sandbox", async (name, args) => {
  await using caller = await openToolCaller();
  const result = await caller.call(name, args);
  expect(result.value).toMatchObject({ truncated: true, stderr: "" });
  const text = textOf(result);
  expect(text.split("\n").at(-1)).toMatch(/exit_code: 0, .*truncated: true, .*all \d+ bytes are in /);
  expect(text).toMatch(/^line 1\nline 2\n[^]*\n\[\.\.\. \d+ bytes cut \.\.\.\]\n[^]*line 20000\n\[/);
  expect(Buffer.byteLength(text)).toBeLessThan(16_384 + 500);
  const path = /are in (\/\S+),/.exec(text)?.[1] ?? "";
  const found = await caller.call("search_content", { pattern: "^line 9999$", path });
  expect(found.value).toMatchObject({ matches: [{ line: 9_999 }] });
  const before = Number(/line (\d+)\n\[\.\.\. /.exec(text)?.[1]);
  expect(textOf(await readOn(caller, text))).toMatch(new RegExp(`^line ${before + 1}\n`));
});

it("shows as much as is asked for", async () => {
  await using caller = await openToolCaller();
  const command = "seq 1 10000";
  const whole = await caller.call("run_command", { command, max_bytes: 262_144 });
  expect(whole.value).toMatchObject({ truncated: false, stdout: expect.stringMatching(/\n10000\n$/) });
  const small = await caller.call("run_command", { command, max_bytes: 256 });
  expect(Buffer.byteLength(String(small.value["stdout"]))).toBeLessThan(300);
});

it("shows no more lines than every host does, of an output and of a file, unless max_bytes is named", async () => {
  await using caller = await openToolCaller();
  const command = "seq 1 2500 | tee short.txt";
  const shown = textOf(await caller.call("run_command", { command }));
  expect(shown.split("\n").length).toBeLessThan(1_910);
  expect(shown).toMatch(/^1\n2\n[^]*\n950\n\[\.\.\. \d+ bytes cut \.\.\.\]\n1551\n[^]*\n2500\n\[/);
  expect(textOf(await readOn(caller, shown))).toMatch(/^951\n/);
  const file = await caller.call("read_file", { path: "short.txt" });
  expect(file.value).toMatchObject({ end_line: 1_900, truncated: true, content: expect.stringMatching(/\n1900\n$/) });
  expect(textOf(file)).toMatch(/read on with read_file \{"path":"short.txt","start_line":1901\}\]$/);
  const rest = await caller.call("read_file", { path: "short.txt", start_line: 601 });
  expect(rest.value).toMatchObject({ end_line: 2_500, truncated: false });
  const whole = await caller.call("read_file", { path: "short.txt", max_bytes: 16_384 });
  expect(whole.value).toMatchObject({ truncated: false });
});

it("cuts each stream where it is long, and reads on in the one that was cut", async () => {
  await using caller = await openToolCaller();
  const { id } = await caller.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const result = await caller.call("sandbox_exec", { id, cmd: `echo out; ${PRINT} >&2` });
  const { stdout, stderr } = result.value as { stdout: string; stderr: string };
  expect(stdout).toBe("out\n");
  expect(stderr.split("\n").every((line) => /^(line \d+|\[\.\.\. .* \.\.\.\]|)$/.test(line))).toBe(true);
  const before = Number(/line (\d+)\n\[\.\.\. /.exec(stderr)?.[1]);
  expect(textOf(await readOn(caller, textOf(result)))).toMatch(new RegExp(`^line ${before + 1}\n`));
  const both = await caller.call("sandbox_exec", { id, cmd: `${PRINT}; ${PRINT} >&2` });
  for (const name of ["stdout", "stderr"]) expect(Buffer.byteLength(String(both.value[name]))).toBeLessThan(8_300);
});

it.each([
  ["run_command", { command: PRINT }],
  ["shell_run", { command: PRINT }],
  ["execute_code", { language: "bash", entrypoint_code: PRINT }],
])("%s in another sandbox names it in the call that reads on", async (name, args) => {
  await using caller = await openToolCaller();
  const { id } = await caller.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const result = await caller.call(name, { ...args, sandbox: id });
  expect(textOf(await readOn(caller, textOf(result)))).toMatch(/^line \d+\n/);
});

it("keeps as a result what ends with its sandbox, or finds no room in it", async () => {
  await using caller = await openToolCaller();
  const program = await caller.call("execute_code", { language: "bash", entrypoint_code: PRINT });
  const before = Number(/line (\d+)\n\[\.\.\. /.exec(textOf(program))?.[1]);
  expect(textOf(await readOn(caller, textOf(program)))).toMatch(new RegExp(`^line ${before + 1}\n`));
  await caller.call("run_command", { command: "mkdir -p ../../var/tmp/.belljar; : > ../../var/tmp/.belljar/output" });
  const command = await caller.call("run_command", { command: PRINT });
  expect(textOf(await readOn(caller, textOf(command)))).toMatch(/^line \d+\n/);
});

it("keeps the newest sixteen, and both ends of what is too much to keep", async () => {
  await using caller = await openToolCaller();
  const print = () => caller.call("run_command", { command: PRINT, max_bytes: 256 });
  for (let count = 0; count < 18; count += 1) await print();
  const files = await caller.call("run_command", { command: "ls ../../var/tmp/.belljar/output | wc -l" });
  expect(Number(files.value["stdout"])).toBe(16);
  const large = await caller.call("run_command", { command: "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last" });
  const path = /are in (\/\S+),/.exec(textOf(large))?.[1] ?? "";
  const kept = await caller.call("run_command", { command: `grep -ac 'bytes cut' ../..${path}; wc -c < ../..${path}` });
  expect(String(kept.value["stdout"])).toMatch(/^1\n10\d{5}\n$/);
  const size = String(kept.value["stdout"]).split("\n")[1];
  expect(textOf(large)).toContain(`, the first and last parts (${size} bytes) of 5000012 bytes are in ${path}, `);
});

it("says of a result too that its middle is not there", async () => {
  await using caller = await openToolCaller();
  const code = "head -c 5000000 /dev/zero | tr '\\0' x";
  const program = await caller.call("execute_code", { language: "bash", entrypoint_code: code });
  expect(textOf(program)).toMatch(/, the first and last parts \(10\d{5} bytes\) of 5000000 bytes are kept, read on with read_result /);
});

it("shows what a terminal would, unless it is asked for all", async () => {
  await using caller = await openToolCaller();
  const command = String.raw`printf '\033[31mred\033[0m\n1%%\r100%%\na\0b\n'`;
  expect((await caller.call("run_command", { command })).value["stdout"]).toBe("red\n100%\nab\n");
  expect((await caller.call("run_command", { command, raw: true })).value["stdout"]).toBe("\u001b[31mred\u001b[0m\n1%\r100%\na\0b\n");
});

const RAW = "overwritten lines left out; raw: true shows them";

it.each([
  ["run_command", "command", RAW],
  ["shell_run", "command", RAW],
  ["execute_code", "entrypoint_code", RAW],
  ["sandbox_exec", "cmd", "overwritten lines left out"],
])("%s tells that it left out lines that were written over", async (name, key, note) => {
  await using caller = await openToolCaller();
  const { id } = await caller.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const run = async (command: string, more: object = {}) => {
    const language = name === "execute_code" ? { language: "bash" } : {};
    const where = name === "sandbox_exec" ? { id } : { sandbox: id };
    return textOf(await caller.call(name, { [key]: command, ...language, ...where, ...more }));
  };
  const print = String.raw`printf 'one\rtwo\rthree\r'`;
  expect(await run(print)).toMatch(new RegExp(`three\n[^]*, ${note}\\]$`));
  expect(await run(String.raw`printf 'one\r\ntwo\r\n'`)).not.toContain("left out");
  expect(await run(`${print}; seq 20000`)).toMatch(new RegExp(`, ${note}, all \\d+ bytes are in `));
  const whole = await run(print, note === RAW ? { raw: true } : {});
  expect(whole.includes("left out")).toBe(note !== RAW);
});

it("tells how much there was of output that is no text, and shows the other stream", async () => {
  await using caller = await openToolCaller();
  const command = "echo text >&2; head -c 20000 /bin/sh";
  const result = await caller.call("run_command", { command });
  expect(textOf(result)).toMatch(/^--- stderr ---\ntext\n\[exit_code: 0, .*20000 binary bytes left out; raw: true shows them\]$/);
  expect(result.value).toMatchObject({ stdout: "", truncated: false });
  expect((await caller.call("run_command", { command, raw: true })).value["stdout"]).toContain("ELF");
});

it("keeps nothing of what is shown in full", async () => {
  await using caller = await openToolCaller();
  expect((await caller.call("run_command", { command: "head -c 16384 /dev/zero | tr '\\0' x" })).value).toMatchObject({ truncated: false });
  expect(caller.catalog.results.list(LOCAL)).toEqual([]);
});
