import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { openFakeSandboxes } from "../support/fake-sandboxes.ts";
import type { CreateOptions, Sandboxes } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { createInterpreter } from "../../src/interpreter/interpreter.ts";
import type { Program, RunProgramOptions } from "../../src/interpreter/program.ts";
import { listed } from "../support/listed.ts";

/** Stands for a template that lacks a language, whatever this host has. */
const NO_COMMANDS = { PATH: "/nonexistent" };

async function open() {
  const place = await openFakeSandboxes();
  const created: CreateOptions[] = [];
  const watched: Pick<Sandboxes, "create"> = {
    create: (principal, options, signal) => (created.push(options), place.sandboxes.create(principal, options, signal)),
  };
  const interpreter = createInterpreter({ sandboxes: watched });
  return {
    sandboxes: place.sandboxes,
    created,
    interpreter,
    run: (program: Program, options: Partial<RunProgramOptions> = {}) =>
      interpreter.runProgram(LOCAL, program, { signal: new AbortController().signal, ...options }),
    running: async () => (await interpreter[Symbol.asyncDispose](), await listed(place.sandboxes, LOCAL, { state: ["running"] })).length,
    async [Symbol.asyncDispose]() {
      await interpreter[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

it("gives a program no more than its principal may have, though a language needs more", async () => {
  await using place = await open();
  const principal = { id: "token:ci", name: "ci", grants: { limits: { memoryBytes: 2 ** 27, pids: 8 }, network: "none" as const } };
  const run = place.interpreter.runProgram(principal, { language: "go", code: "package main" }, { signal: new AbortController().signal });
  await expect(run).rejects.toMatchObject({ code: "LIMIT_UNENFORCEABLE" });
  expect(place.created[0]).toMatchObject({ limits: { memoryBytes: 2 ** 27, pids: 8, cpus: 1 }, network: "none" });
});

it.each([
  ["python", "import sys\nprint('out')\nprint('err', file=sys.stderr)"],
  ["javascript", "console.log('out'); console.error('err')"],
  ["bash", "echo out; echo err >&2"],
  ["perl", 'print "out\\n"; print STDERR "err\\n";'],
  ["c", '#include <stdio.h>\nint main(void) { puts("out"); fputs("err\\n", stderr); return 0; }'],
  ["c++", '#include <iostream>\nint main() { std::cout << "out\\n"; std::cerr << "err\\n"; }'],
])("runs a program in %s", async (language, code) => {
  await using place = await open();
  const result = await place.run({ language, code });
  expect(result).toMatchObject({ status: "success", stdout: "out\n", stderr: "err\n", exitCode: 0, phase: "run", truncated: false });
});

it("runs JavaScript of both module systems, without a word of its own on stderr", async () => {
  await using place = await open();
  const modern = await place.run({
    language: "js",
    code: 'import os from "node:os"; console.log(typeof os.EOL, await Promise.resolve(1))',
  });
  const classic = await place.run({ language: "js", code: 'const os = require("node:os"); console.log(typeof os.EOL)' });
  expect([modern.stdout, modern.stderr, classic.stdout]).toEqual(["string 1\n", "", "string\n"]);
});

it("gives a program its files, arguments, input and environment", async () => {
  await using place = await open();
  const result = await place.run({
    language: "python",
    code: "import os, sys\nfrom lib.util import shout\nprint(shout(sys.stdin.read()), sys.argv[1:], os.environ['X'], open('data.txt').read())",
    entryFile: "start.py",
    files: [
      { name: "lib/util.py", content: "def shout(text): return text.upper()" },
      { name: "data.txt", content: "data" },
    ],
    args: ["-a", "b c", "$(id)"],
    stdin: "in",
    env: { X: "y" },
  });
  expect(result).toMatchObject({ stdout: "IN ['-a', 'b c', '$(id)'] y data\n", stderr: "" });
});

it("runs an entry file whose name looks like an option", async () => {
  await using place = await open();
  expect(await place.run({ language: "python", code: "print(1)", entryFile: "-c.py" })).toMatchObject({ stdout: "1\n" });
  expect(await place.run({ language: "c", code: "int main(void) { return 0; }", entryFile: "-o.c" })).toMatchObject({ status: "success" });
});

it("reports a non-zero exit and a signal as results", async () => {
  await using place = await open();
  expect(await place.run({ language: "bash", code: "exit 7" })).toMatchObject({ status: "error", exitCode: 7, signal: undefined });
  expect(await place.run({ language: "bash", code: "kill -SEGV $$" })).toMatchObject({
    status: "error",
    exitCode: undefined,
    signal: "SIGSEGV",
  });
});

it("reports a failed compilation with the compiler's words, and runs nothing", async () => {
  await using place = await open();
  const seen: string[] = [];
  const result = await place.run(
    { language: "c", code: "int main(void) { retrun 0; }" },
    { onOutput: (_stream, chunk) => seen.push(chunk.toString()) },
  );
  expect(result).toMatchObject({ status: "error", phase: "compile", exitCode: 1, stderr: expect.stringContaining("main.c") });
  expect(seen.join("")).toBe(result.stderr);
});

it("keeps a successful compiler's warnings out of the program's output", async () => {
  await using place = await open();
  const seen: string[] = [];
  const code = '#warning "mind this"\n#include <stdio.h>\nint main(void) { puts("out"); return 0; }';
  expect(await place.run({ language: "c", code }, { onOutput: (_stream, chunk) => seen.push(chunk.toString()) })).toMatchObject({
    stderr: "",
  });
  expect(seen.join("")).toBe("out\n");
});

it("stops a program at its time limit, with what it had printed", async () => {
  await using place = await open();
  const result = await place.run({ language: "python", code: "print('before')\nwhile True: pass" }, { timeoutMs: 500 });
  expect(result).toMatchObject({ status: "timeout", stdout: "before\n" });
});

it("kills the sandbox of a program that has ended, failed or been cancelled", async () => {
  await using place = await open();
  await place.run({ language: "bash", code: "exit 1" });
  await expect(place.run({ language: "ruby", code: "1", env: NO_COMMANDS })).rejects.toMatchObject({ code: "LANGUAGE_UNAVAILABLE" });
  const controller = new AbortController();
  const cancelled = place.run(
    { language: "bash", code: "echo started; sleep 600" },
    { signal: controller.signal, onOutput: () => controller.abort() },
  );
  await expect(cancelled).rejects.toMatchObject({ code: "CANCELLED" });
  expect(await place.running()).toBe(0);
  expect(place.created).toHaveLength(3);
});

it("names the languages that the template has when it lacks one", async () => {
  await using place = await open();
  await expect(place.run({ language: "ruby", code: "puts 1", env: NO_COMMANDS })).rejects.toMatchObject({
    code: "LANGUAGE_UNAVAILABLE",
    message: expect.stringMatching(
      /^The template "base" has no Ruby \("ruby"\); it has .*python, javascript, typescript, bash,.*the package ruby\)$/,
    ),
  });
});

it("makes no sandbox for an unknown language or a bad file name", async () => {
  await using place = await open();
  await expect(place.run({ language: "cobol", code: "" })).rejects.toMatchObject({ code: "LANGUAGE_UNAVAILABLE" });
  await expect(place.run({ language: "python", code: "", entryFile: "../x.py" })).rejects.toMatchObject({ code: "ARGUMENTS_INVALID" });
  expect(place.created).toEqual([]);
});

it("asks for an ephemeral sandbox with the limits of a careful host", async () => {
  await using place = await open();
  await place.run({ language: "bash", code: "true" });
  expect(place.created[0]).toMatchObject({
    ephemeral: true,
    network: "none",
    bestEffort: true,
    limits: { memoryBytes: 268_435_456, cpus: 0.5, pids: 64 },
    timeoutMs: 80_000,
  });
});

it("raises defaults that a language cannot work with, and no limit that the caller named", async () => {
  await using place = await open();
  await place.run({ language: "c++", code: "int main() {}" });
  expect(place.created[0]?.limits?.memoryBytes).toBe(536_870_912);
  await expect(place.run({ language: "c++", code: "int main() {}" }, { limits: { memoryBytes: 33_554_432 } })).rejects.toMatchObject({
    code: "LIMIT_UNENFORCEABLE",
  });
  expect(place.created[1]).toMatchObject({ bestEffort: false, limits: { memoryBytes: 33_554_432 } });
});

it("runs in a sandbox that it is given, and leaves only that sandbox behind", async () => {
  await using place = await open();
  const sandbox = await place.sandboxes.create(LOCAL, {}, new AbortController().signal);
  const result = await place.run(
    { language: "python", code: "open('left', 'w').close()\nimport os\nprint(sorted(os.listdir('.')))" },
    { sandbox },
  );
  expect(result.stdout).toBe("['left', 'main.py']\n");
  const { stdout } = await sandbox.guest.run({ argv: ["ls"], cwd: "/tmp", signal: new AbortController().signal });
  expect(stdout.toString()).toBe("");
  expect(await place.running()).toBe(1);
});

it("keeps both ends of a long output", async () => {
  await using place = await open();
  const result = await place.run({ language: "python", code: "for i in range(10000): print(i)" }, { maxOutputBytes: 100 });
  expect(result.truncated).toBe(true);
  expect(result.stdout).toMatch(/^0\n1\n2\n[\s\S]*bytes cut[\s\S]*9998\n9999\n$/);
});

it("says that the memory was used up when the keeper saw it", async () => {
  await using place = await open();
  const interpreter = createInterpreter({
    sandboxes: {
      async create(principal, options, signal) {
        const sandbox = await place.sandboxes.create(principal, options, signal);
        const usage = async () => ({ ...(await sandbox.usage()), oomKills: 1 });
        const knownOomKills = () => sandbox.knownOomKills();
        return { ...sandbox, id: sandbox.id, guest: sandbox.guest, usage, knownOomKills, kill: () => sandbox.kill() };
      },
    },
  });
  const run = (code: string) => interpreter.runProgram(LOCAL, { language: "bash", code }, { signal: new AbortController().signal });
  expect(await run("kill -KILL $$")).toMatchObject({ outOfMemory: true, signal: "SIGKILL" });
  expect(await run("bash -c 'kill -KILL $$'; exit $?")).toMatchObject({ outOfMemory: true, exitCode: 137 });
  expect(await run("exit 1")).toMatchObject({ outOfMemory: true, exitCode: 1 });
  expect(await run("true")).toMatchObject({ outOfMemory: false });
  await interpreter[Symbol.asyncDispose]();
});

it("feeds a program from a live stream, and shows what it answers before the stream ends", async () => {
  await using place = await open();
  const stdin = new PassThrough();
  stdin.write("first\n");
  const onOutput = (_stream: string, chunk: Buffer) => {
    if (chunk.toString().includes("first")) stdin.end("second\n");
  };
  expect(await place.run({ language: "bash", code: 'while read -r line; do echo "$line"; done', stdin }, { onOutput })).toMatchObject({
    stdout: "first\nsecond\n",
  });
});

it("ends with a program that leaves its live input unread", async () => {
  await using place = await open();
  const stdin = new PassThrough();
  expect(await place.run({ language: "bash", code: "echo done", stdin })).toMatchObject({ status: "success", stdout: "done\n" });
});
