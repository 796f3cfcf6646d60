import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PYTHON_KERNEL, startPythonKernel } from "../../support/python-kernel.ts";

describe("an interrupt", () => {
  it.each([
    ["an endless loop", "print('go')\nwhile True: pass"],
    ["a sleep", "import time\nprint('go')\ntime.sleep(1e6)"],
    ["an await", "import asyncio\nprint('go')\nawait asyncio.sleep(1e6)"],
    ["a flood of text", "while True: print('go')"],
    ["a __repr__ that never ends", "class A:\n  def __repr__(self):\n    print('go')\n    while True: pass\nA()"],
    ["an error whose text never ends", "class E(Exception):\n  def __str__(self):\n    print('go')\n    while True: pass\nraise E"],
    [
      "a program",
      "import subprocess\nchild = subprocess.Popen(['sleep', '1000000'])\nprint('go')\ntry: child.wait()\nfinally: child.kill()",
    ],
  ])("ends %s, and variables survive", async (_what, code) => {
    await using kernel = startPythonKernel();
    await kernel.run("x = 41");
    const run = kernel.start(code);
    await kernel.printed("go");
    kernel.interrupt();
    const { error } = await kernel.outcome(run);
    expect(error?.name).toMatch(/^(KeyboardInterrupt|E)$/);
    expect(error?.traceback).not.toContain("belljar");
    expect((await kernel.run("x + 1")).result).toEqual({ "text/plain": "42" });
  });

  it("that comes again ends imports, where Python itself may drop one", async () => {
    await using kernel = startPythonKernel();
    const run = kernel.start("print('go')\nwhile True:\n  try: import absent\n  except ImportError: pass");
    await kernel.printed("go");
    const ending = kernel.outcome(run);
    // What is raised while an import gives back its lock is written to stderr and forgotten. A host interrupts again.
    for (let count = 0; count < 5; count++) {
      kernel.interrupt();
      await Promise.race([ending, kernel.dropped(count + 1)]);
    }
    expect((await ending).error?.name).toBe("KeyboardInterrupt");
  });

  it("shows where an await stood", async () => {
    await using kernel = startPythonKernel();
    const run = kernel.start("import asyncio\nprint('go')\nawait asyncio.sleep(1e6)");
    await kernel.printed("go");
    kernel.interrupt();
    const { error } = await kernel.outcome(run);
    expect([error?.name, error?.traceback?.includes("run_until_complete")]).toEqual(["KeyboardInterrupt", false]);
  });

  it("that comes before the code has begun ends the run", async () => {
    await using kernel = startPythonKernel();
    // They take the kernel some time.
    const env = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`VARIABLE_${index}`, "1"]));
    const run = kernel.start("while True: pass", { env });
    await kernel.begun(run);
    kernel.interrupt();
    expect((await kernel.outcome(run)).error?.name).toBe("KeyboardInterrupt");
    expect((await kernel.run("3")).result).toEqual({ "text/plain": "3" });
  });

  it("that comes between the code and the text of its value ends the run", async () => {
    await using kernel = startPythonKernel();
    // The value of before goes when the next one is there, and tells so between the two.
    await kernel.run("import time\nclass Last:\n  def __del__(self):\n    print('go')\n    time.sleep(1)\nLast()");
    const run = kernel.start("class Next:\n  def __repr__(self):\n    while True: pass\nNext()");
    await kernel.printed("go");
    kernel.interrupt();
    expect((await kernel.outcome(run)).error?.name).toBe("KeyboardInterrupt");
    expect((await kernel.run("3")).result).toEqual({ "text/plain": "3" });
  });

  it("does nothing while idle, and nothing to the next run", async () => {
    await using kernel = startPythonKernel();
    await kernel.run("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_DFL)");
    for (let i = 0; i < 50; i += 1) {
      kernel.interrupt();
      expect((await kernel.run("time.sleep(0)\n1")).messages.map(({ type }) => type)).toEqual(["result"]);
    }
  });

  it("that comes again while the first is handled does not end the kernel", async () => {
    await using kernel = startPythonKernel();
    for (let i = 0; i < 30; i += 1) {
      const run = kernel.start("print('go')\ntry:\n  while True: pass\nfinally:\n  print('cleaned')");
      await kernel.printed("go");
      for (let j = 0; j < 5; j += 1) kernel.interrupt();
      expect((await kernel.outcome(run)).error?.name).toBe("KeyboardInterrupt");
    }
    expect((await kernel.run("1")).result).toEqual({ "text/plain": "1" });
  });

  it("cuts no line, however often it comes in a flood", async () => {
    await using kernel = startPythonKernel();
    const code = `import os, signal, threading
hits, go = 0, threading.Event()
def attack():
  go.wait()
  for _ in range(500): os.kill(os.getpid(), signal.SIGINT)
thread = threading.Thread(target=attack)
thread.start()
while True:
  try:
    go.set()
    while thread.is_alive(): print("x" * 50_000)
    break
  except KeyboardInterrupt: hits += 1`;
    // A last interrupt may end the run too. A line that was cut would be no JSON.
    const { messages } = await kernel.run(code);
    expect(messages.length).toBeGreaterThan(0);
    expect((await kernel.run("hits > 0")).result).toEqual({ "text/plain": "True" });
  });
});

describe("texts", () => {
  it("of both streams come in order, and lines as they come", async () => {
    await using kernel = startPythonKernel();
    const run = kernel.start(
      "import sys\nprint('a')\nprint('b', file=sys.stderr)\nsys.stdout.write('c')\nsys.stdout.buffer.write(b'\\xc3')\nsys.stdout.buffer.write(b'\\xa9\\xff')\nsys.stdout.flush()",
    );
    const { messages } = await kernel.outcome(run);
    expect(messages.map(({ type, text }) => [type, text])).toEqual([
      ["stdout", "a\n"],
      ["stderr", "b\n"],
      ["stdout", "cé\u{fffd}"],
    ]);
    const second = kernel.start("print('early')\nwhile True: pass");
    await kernel.printed("early");
    kernel.interrupt();
    await kernel.outcome(second);
  });

  it("of very many lines are whole, and few messages", async () => {
    await using kernel = startPythonKernel();
    const { stdout, messages } = await kernel.run("for i in range(100_000): print(i)");
    expect(stdout).toBe(Array.from({ length: 100_000 }, (_, i) => `${i}\n`).join(""));
    expect(messages.length).toBeLessThan(50_000);
    const long = await kernel.run("print('x' * 1_000_000)");
    expect([long.stdout.length, Math.max(...long.messages.map(({ text }) => text?.length ?? 0))]).toEqual([1_000_001, 65_536]);
  });

  it("of programs and of C code come through the pipes, before the marks", async () => {
    await using kernel = startPythonKernel({ env: { PYTHONUNBUFFERED: "" } });
    const { pipes } = await kernel.run(
      "import os, ctypes\nos.system('echo out; echo err >&2')\nctypes.CDLL(None).printf(b'from C')\nos.write(1, b'\\n');",
    );
    expect([pipes[0].split("\n").toSorted(), pipes[1]]).toEqual([["", "from C", "out"], "err\n"]);
  });

  it("of a thread are held back until the next run, and bounded", async () => {
    await using kernel = startPythonKernel();
    const folder = await mkdtemp(join(tmpdir(), "belljar-kernel-"));
    const [go, done] = [join(folder, "go"), join(folder, "done")];
    execFileSync("mkfifo", [go, done]);
    const thread = `open("${go}").read(); [print("late", i, "." * 90) for i in range(9999)]; open("${done}", "w").write("x")`;
    await kernel.run(`import threading\nthreading.Thread(target=exec, args=(${JSON.stringify(thread)},)).start()`);
    await writeFile(go, "x");
    await readFile(done);
    const { stdout } = await kernel.run("print('now')");
    expect(stdout.startsWith("late 0 ")).toBe(true);
    expect(stdout.endsWith("now\n")).toBe(true);
    expect(stdout.length).toBeLessThanOrEqual(65_536 + 4);
    await rm(folder, { recursive: true });
  });
});

describe("the channel", () => {
  it("takes no harm from what is no request", async () => {
    await using kernel = startPythonKernel();
    const half = JSON.stringify({ run: "0".repeat(32), code: "print('never')", env: {} });
    for (const line of [
      "",
      "{",
      "[]",
      "null",
      "\u{0}",
      "[".repeat(200_000),
      '{"run":1}',
      half.replace("0000", "zz00"),
      `${half} {}`,
      half.slice(0, 30),
    ])
      kernel.sendRaw(`${line}\n`);
    kernel.sendRaw(Buffer.from([0xff, 0xfe, 10, 0, 10]));
    kernel.sendRaw(`${JSON.stringify({ run: "1".repeat(32), code: "print('never')", env: { A: 1 } })}\n`);
    kernel.sendRaw(half.slice(0, 40));
    expect(await kernel.run("1")).toMatchObject({ count: 1, stdout: "", result: { "text/plain": "1" } });
  });

  it("takes code of megabytes, and skips lines of over 32 MiB", async () => {
    await using kernel = startPythonKernel();
    expect((await kernel.run(`len("${"x".repeat(5_000_000)}")`)).result).toEqual({ "text/plain": "5000000" });
    kernel.start(`"${"x".repeat(33 << 20)}"`);
    expect(await kernel.run("2")).toMatchObject({ count: 2, result: { "text/plain": "2" } });
  });

  it("may wait for its host for long", async () => {
    await using kernel = startPythonKernel();
    const run = kernel.start("for i in range(100): print('x' * 100_000)");
    await kernel.printed("x");
    kernel.stopReading();
    kernel.interrupt();
    kernel.readAgain();
    await kernel.outcome(run);
    expect((await kernel.run("1")).result).toEqual({ "text/plain": "1" });
  });

  it("ends the kernel when it is closed, idle or not", async () => {
    const idle = startPythonKernel();
    await idle.run(
      "import atexit, os\natexit.register(lambda: os.write(1, b'bye'))\nimport threading, time\nthreading.Thread(target=time.sleep, args=(1e6,)).start()",
    );
    idle.hangUp();
    expect(await idle.ended).toBe(0);
    const busy = startPythonKernel();
    busy.start("while True: print('go')");
    await busy.printed("go");
    busy.hangUp();
    expect(await busy.ended).toBe(0);
  });

  it("is not held by programs, nor by kernels that closed their descriptors", async () => {
    await using kernel = startPythonKernel();
    expect(
      (await kernel.run("import subprocess\nsubprocess.run(['sh', '-c', 'echo x >&3'], close_fds=False, stderr=-1).returncode != 0"))
        .result,
    ).toEqual({
      "text/plain": "True",
    });
    kernel.start("import os; os.close(3)");
    expect(await kernel.ended).not.toBeNull();
  });
});

describe("children by fork", () => {
  it("answer nothing, and print to the pipes", async () => {
    await using kernel = startPythonKernel();
    const run = await kernel.run("import os\nprint('before')\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nelse: print('child')\npid > 0");
    expect([run.stdout, run.pipes[0], run.result]).toEqual(["before\n", "child\n", { "text/plain": "True" }]);
    const failed = await kernel.run("pid = os.fork()\nif not pid: 1/0\nos.waitpid(pid, 0)[1] >> 8");
    expect([failed.result, failed.pipes[1].includes("ZeroDivisionError"), failed.error]).toEqual([{ "text/plain": "1" }, true, undefined]);
    expect((await kernel.run("pid = os.fork()\nif not pid: raise SystemExit(7)\nos.waitpid(pid, 0)[1] >> 8")).result).toEqual({
      "text/plain": "7",
    });
    expect((await kernel.run("1")).count).toBe(4);
  });

  it.each(["fork", "spawn"])("of multiprocessing work by %s", async (way) => {
    await using kernel = startPythonKernel();
    const code = `import multiprocessing, math\nwith multiprocessing.get_context("${way}").Pool(2) as pool: print(pool.map(math.sqrt, [4, 9]))`;
    expect(await kernel.run(code)).toMatchObject({ stdout: "[2.0, 3.0]\n", error: undefined });
  });
});

it("says that it cannot be started by hand", () => {
  const { status, stderr } = spawnSync("python3", [PYTHON_KERNEL], { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" });
  expect([status, stderr]).toEqual([1, "This program is started by Belljar, which talks with it over descriptor 3\n"]);
});
