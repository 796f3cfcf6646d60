import { describe, expect, it } from "vitest";
import { createContext, listContexts, removeContext } from "../../../src/interpreter/lasting/contexts.ts";
import { shareContexts, soon, streamsOf } from "../../support/context-lab.ts";

const contexts = shareContexts("python");
const { run } = contexts;

describe("a Python context", () => {
  it("keeps variables, imports and its folder, and gives the last value", async () => {
    expect(await run("import os, math\nx = 40\nos.chdir('/tmp')\nprint('hej')")).toMatchObject({
      isFresh: true,
      executionCount: 1,
      values: [],
    });
    const next = await run("import sys\nprint(os.getcwd()); print('e', file=sys.stderr)\nx + math.floor(2.5)");
    expect(next).toMatchObject({ isFresh: false, contextId: "python", executionCount: 2, error: undefined });
    expect(streamsOf(next)).toEqual(["/tmp\n", "e\n"]);
    expect(next.values).toEqual([{ type: "result", data: expect.objectContaining({ "text/plain": "42" }) }]);
  });

  it("tells an error with its name and the user's own frames, and goes on", async () => {
    const { error } = await run("def f():\n  return 1 / 0\nf()");
    expect(error).toMatchObject({ name: "ZeroDivisionError", message: "division by zero" });
    expect(error?.traceback).toContain("return 1 / 0");
    expect(error?.traceback).not.toContain("/opt/belljar");
    expect((await run("x")).values[0]?.data["text/plain"]).toBe("40");
  });

  it("keeps its variables when its code is interrupted, and answers whoever comes next", async () => {
    const late = await run("kept = 1\nwhile True: pass", { timeoutMs: 300 });
    expect(late).toMatchObject({ timedOut: true, lost: undefined, error: { name: "KeyboardInterrupt" } });
    const caller = new AbortController();
    const cancelled = run("import time\nprint('begun', flush=True)\ntime.sleep(60)", {
      signal: caller.signal,
      onOutput: () => caller.abort(new Error("gone")),
    });
    await expect(cancelled).rejects.toThrow("gone");
    expect((await run("kept", {}, await contexts.beside())).values[0]?.data["text/plain"]).toBe("1");
  });

  it("goes on after a stream that was cut in the middle of a request and of an answer", async () => {
    const cut = await contexts.sandbox().guest.attach("context-python", soon());
    cut.channels[0]?.write(`\n${JSON.stringify({ run: "0".repeat(32), code: "print('x' * 1000000)", env: {} })}\n{"run": "half`);
    await cut[Symbol.asyncDispose]();
    expect((await run("kept")).values[0]?.data["text/plain"]).toBe("1");
  });

  it("has the output of its children in order of the streams, and all of it", async () => {
    const result = await run("import subprocess\nsubprocess.run(['sh', '-c', 'echo child; echo err >&2'])\nprint('after')");
    expect(streamsOf(result)).toEqual(["child\nafter\n", "err\n"]);
  });

  it("says how it ended, and starts again", async () => {
    expect((await run("import os\nos._exit(3)")).lost?.exit?.exitCode).toBe(3);
    expect((await run("kept")).error?.name).toBe("NameError");
    expect((await run("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")).lost?.exit?.signal).toBe("SIGSEGV");
  });
});

describe("a hostile Python context", () => {
  it("that writes garbage on its channel is heard no more than its own words", async () => {
    const garbage = "import os\nos.write(3, b'{\"type\":\\n' + os.urandom(1000) + b'\\n[[[[\\n')\nprint('still')";
    expect(streamsOf(await run(garbage))[0]).toBe("still\n");
  });

  it("is removed also while code runs there that listens to no signal", async () => {
    const { id } = await createContext(contexts.sandbox(), { language: "python" });
    const code = `import signal
for number in set(signal.valid_signals()) - {9, 19}: signal.signal(number, signal.SIG_IGN)
print("deaf", flush=True)
while True: pass`;
    let removed: Promise<void> | undefined;
    const { lost } = await run(code, { contextId: id, onOutput: () => void (removed = removeContext(contexts.sandbox(), id, soon())) });
    await removed;
    expect(lost).toMatchObject({ exit: { signal: "SIGKILL" }, startsAgain: false });
    expect((await listContexts(contexts.sandbox(), soon())).map((one) => one.id)).not.toContain(id);
  });

  it("that floods its channel is bounded, and interrupted if a line has no end", async () => {
    const values = "import os, json\nline = json.dumps({'type': 'display', 'data': {'text/plain': 'x' * 100000}}).encode() + b'\\n'\n";
    const many = await run(
      `${values}w = lambda b: [b := b[os.write(3, b):] for _ in iter(lambda: len(b), 0)]\nfor n in range(400):\n  data = line\n  while data: data = data[os.write(3, data):]`,
    );
    expect(many.values.length).toBeLessThanOrEqual(256);
    expect(many.more).toBeGreaterThan(100);
    const tooLong = await run("import os\ndata = b'x' * 9_000_000 + b'\\n'\nwhile data: data = data[os.write(3, data):]\n'kept'");
    expect([tooLong.more, tooLong.values.length, tooLong.lost]).toEqual([1, 1, undefined]);
    const endless = await run("import os\nwhile True: os.write(3, b'x' * 65536)", { timeoutMs: 1_000 });
    expect(endless.timedOut).toBe(true);
    expect((await run("1 + 1")).values[0]?.data["text/plain"]).toBe("2");
  });

  it("that closes its descriptors is started again, or at least answers", async () => {
    for (const code of ["import os\nos.close(3)", "import os\nos.closerange(0, 100)"]) {
      const result = await run(code, { timeoutMs: 1_000 });
      expect(result.lost ?? result.error ?? result.timedOut).toBeTruthy();
      expect((await run("1")).values[0]?.data["text/plain"]).toBe("1");
    }
  });

  it("with a picture that is too large keeps its variables, and says so", async () => {
    const large = "class P:\n  def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * 9_000_000\nlarge = 1\nP()";
    const { lost, values } = await run(large);
    expect([lost, JSON.stringify(values).length < 2_000_000]).toEqual([undefined, true]);
    expect((await run("large")).values[0]?.data["text/plain"]).toBe("1");
  });

  it("that forks answers once", async () => {
    const result = await run(
      "import os\npid = os.fork()\nif pid == 0:\n  print('child', flush=True)\n  os._exit(0)\nos.waitpid(pid, 0)\nprint('parent')\n'both'",
    );
    expect(result.values.length).toBe(1);
    expect(streamsOf(result)[0]).toContain("parent\n");
    expect((await run("1 + 1")).values[0]?.data["text/plain"]).toBe("2");
  });

  it("whose value has a gigabyte is told so", async () => {
    const { values, error, windows } = await run("'x' * 1_000_000_000");
    expect(JSON.stringify([values, error, windows.stderr.text()]).length).toBeLessThan(2_500_000);
    expect((await run("1 + 1")).values[0]?.data["text/plain"]).toBe("2");
  });

  it("is one of many, each apart", async () => {
    expect((await listContexts(contexts.sandbox(), soon())).map(({ id }) => id)).toEqual(["python"]);
  });
});
