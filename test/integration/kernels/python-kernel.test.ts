import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startPythonKernel } from "../../support/python-kernel.ts";

describe("state", () => {
  it("lets variables, imports, functions and the folder survive", async () => {
    await using kernel = startPythonKernel();
    const folder = await realpath(await mkdtemp(join(tmpdir(), "belljar-kernel-")));
    await kernel.run(`import os, math\nx = 20\ndef double(n): return 2 * n\nos.chdir(${JSON.stringify(folder)})`);
    expect((await kernel.run("(double(x) + math.floor(2.5), os.getcwd())")).result).toEqual({ "text/plain": `(42, '${folder}')` });
    await rm(folder, { recursive: true });
  });

  it("is the namespace of __main__, without a file and without the kernel's names", async () => {
    await using kernel = startPythonKernel();
    const names = "import sys\n(__name__, '__file__' in globals(), [n for n in dir() if n[0] != '_'], sys.argv, sys.path[0])";
    expect((await kernel.run(names)).result).toEqual({ "text/plain": "('__main__', False, ['sys'], [''], '')" });
    expect((await kernel.run("class A: pass\nimport pickle\npickle.loads(pickle.dumps(A())).__class__ is A")).result).toEqual({
      "text/plain": "True",
    });
  });

  it("counts the runs from one", async () => {
    await using kernel = startPythonKernel();
    expect([(await kernel.run("1")).count, (await kernel.run("1/0")).count, (await kernel.run("")).count]).toEqual([1, 2, 3]);
  });

  it("sets variables of the environment for one run, also when it fails, and a folder", async () => {
    await using kernel = startPythonKernel({ env: { KEPT: "old" } });
    const env = { KEPT: "new", ADDED: "1" };
    const asked = "import os\n(os.environ.get('KEPT'), os.environ.get('ADDED'), os.popen('echo $ADDED').read())";
    expect((await kernel.run(asked, { env })).result).toEqual({ "text/plain": "('new', '1', '1\\n')" });
    expect((await kernel.run("1/0", { env })).error?.name).toBe("ZeroDivisionError");
    expect((await kernel.run(asked)).result).toEqual({ "text/plain": "('old', None, '\\n')" });
    expect((await kernel.run("os.getcwd()", { cwd: "/" })).result).toEqual({ "text/plain": "'/'" });
    expect((await kernel.run("1", { cwd: "/absent" })).error?.name).toBe("FileNotFoundError");
    expect((await kernel.run("1", { env: { "A=B": "x" } })).error?.name).toBe("ValueError");
  });

  it("keeps from __future__ what a run imported", async () => {
    await using kernel = startPythonKernel();
    await kernel.run("from __future__ import annotations");
    expect((await kernel.run("def f(x: unknown): pass\nf.__annotations__")).result).toEqual({ "text/plain": "{'x': 'unknown'}" });
  });
});

describe("results", () => {
  it.each([
    ["1 + 1", "2"],
    ["'a'", "'a'"],
    ["x = [1]; x", "[1]"],
    ["[1, (2,), {3: {4}}, frozenset([5]), [], {}, set()]", "[1, (2,), {3: {4}}, frozenset({5}), [], {}, set()]"],
    ["a = []; a.append(a); a", "[[...]]"],
    ["class A:\n  def __repr__(self): return 'shown'\n[A(), {1: A()}]", "[shown, {1: shown}]"],
    ["'\\ud800'", "'\\ud800'"],
    ["for i in range(3): pass", undefined],
    ["None", undefined],
    ["5;", undefined],
    ["", undefined],
    ["# only words", undefined],
  ])("of %j is the last expression's value", async (code, text) => {
    await using kernel = startPythonKernel();
    const { result, error } = await kernel.run(code);
    expect([result?.["text/plain"], error]).toEqual([text, undefined]);
  });

  it("are cut at 1 MiB, whatever is in them", async () => {
    await using kernel = startPythonKernel();
    for (const code of ["'x' * 300_000_000", "[[0] * 10_000_000] * 10_000", "b'y' * 3_000_000", "{n: 'z' for n in range(400_000)}"]) {
      const text = String((await kernel.run(code)).result?.["text/plain"]);
      expect(text.length).toBeLessThan(1_048_700);
      expect(text).toMatch(/\n\[\.\.\. cut: the text is longer than 1 MiB\]$/);
    }
  });

  it("that are nested deeply are cut", async () => {
    await using kernel = startPythonKernel();
    const { result, error } = await kernel.run("a = []\nfor _ in range(100_000): a = [a]\na");
    expect([error, /^\[+ \[\.\.\. cut: nested too deeply\]$/.test(String(result?.["text/plain"]))]).toEqual([undefined, true]);
  });

  it("of a __repr__ that raises are its error", async () => {
    await using kernel = startPythonKernel();
    const { error } = await kernel.run("class A:\n  def __repr__(self): raise ValueError('no')\nA()");
    expect([error?.name, error?.message]).toEqual(["ValueError", "no"]);
    expect((await kernel.run("1")).result).toEqual({ "text/plain": "1" });
  });

  it("have the forms that their methods give", async () => {
    await using kernel = startPythonKernel();
    const code = `class A:
  def __repr__(self): return "A"
  def _repr_html_(self): return "<b>A</b>"
  def _repr_markdown_(self): return "**A**"
  def _repr_svg_(self): return "<svg/>"
  def _repr_png_(self): return b"\\x89PNG"
  def _repr_jpeg_(self): return None
  def _repr_latex_(self): return "$A$"
  def _repr_json_(self): return {"a": [1, None]}
  def _repr_mimebundle_(self, include=None, exclude=None): return {"text/own": "own"}
A()`;
    expect((await kernel.run(code)).result).toEqual({
      "text/plain": "A",
      "text/own": "own",
      "text/html": "<b>A</b>",
      "text/markdown": "**A**",
      "image/svg+xml": "<svg/>",
      "image/png": Buffer.from("\u{89}PNG", "latin1").toString("base64"),
      "text/latex": "$A$",
      "application/json": { a: [1, null] },
    });
  });

  it("lose only the form whose method fails, and have none of what answers to every name", async () => {
    await using kernel = startPythonKernel();
    const run = await kernel.run("class A:\n  def __repr__(self): return 'A'\n  def _repr_html_(self): raise KeyError('no')\nA()");
    expect([run.result, run.stderr]).toEqual([{ "text/plain": "A" }, "_repr_html_ of A failed with KeyError: 'no'\n"]);
    expect(Object.keys((await kernel.run("from unittest.mock import Mock\nMock()")).result ?? {})).toEqual(["text/plain"]);
  });

  it("larger than a line may be are named", async () => {
    await using kernel = startPythonKernel();
    const code = "class A:\n  def _repr_html_(self): return 'x' * 17_000_000\n  def _repr_png_(self): return b'y'\nA()";
    expect((await kernel.run(code)).result).toEqual({
      "image/png": "eQ==",
      "text/plain": "[Left out, since it is larger than 16 MiB: text/html]",
    });
  });

  it("are shown in between by display(), in order with the texts", async () => {
    await using kernel = startPythonKernel();
    const { messages } = await kernel.run("print('a')\ndisplay({'b': 1}, 2)\nprint('c')\ndisplay({'text/html': '<d>'}, raw=True)\n3");
    expect(messages.map(({ text, data }) => text ?? data)).toEqual([
      "a\n",
      { "text/plain": "{'b': 1}" },
      { "text/plain": "2" },
      "c\n",
      { "text/html": "<d>" },
      { "text/plain": "3" },
    ]);
  });
});

describe("errors", () => {
  it("have a name, a message and the frames of the user's code alone", async () => {
    await using kernel = startPythonKernel();
    await kernel.run("def f():\n    return 1 / 0");
    const { error } = await kernel.run("f()");
    expect(error).toMatchObject({ name: "ZeroDivisionError", message: "division by zero" });
    const lines = String(error?.traceback)
      .split("\n")
      .filter((line) => !/^\s*[~^]+$/.test(line));
    expect(lines).toEqual([
      "Traceback (most recent call last):",
      '  File "<cell 2>", line 1, in <module>',
      "    f()",
      '  File "<cell 1>", line 2, in f',
      "    return 1 / 0",
      "ZeroDivisionError: division by zero",
      "",
    ]);
  });

  it.each([
    ["1 +", "SyntaxError"],
    ["  x", "IndentationError"],
    ["import sys; sys.exit(3)", "SystemExit"],
    ["exit()", "SystemExit"],
    ["raise BaseException('x')", "BaseException"],
    ["def f(): f()\nf()", "RecursionError"],
    ["'\0'", /ValueError|SyntaxError/],
    ["'\ud800'", "UnicodeEncodeError"],
    ["class E(Exception):\n  def __str__(self): raise TypeError\nraise E", "E"],
    ["(" + "(".repeat(50_000), /MemoryError|SyntaxError|RecursionError/],
    ["input('name? ')", "EOFError"],
    ["import sys\nsys.stdin.read()\nraise EOFError", "EOFError"],
  ])("of %j leave the kernel alive", async (code, name) => {
    await using kernel = startPythonKernel();
    expect((await kernel.run(code)).error?.name).toMatch(name);
    expect((await kernel.run("1 + 1")).result).toEqual({ "text/plain": "2" });
  });

  it("of threads are told on stderr", async () => {
    await using kernel = startPythonKernel();
    const { stderr, error } = await kernel.run("import threading\nt = threading.Thread(target=lambda: 1/0)\nt.start()\nt.join()");
    expect([stderr.includes("ZeroDivisionError"), error]).toEqual([true, undefined]);
  });

  it("show the lines of cells to traceback and inspect too", async () => {
    await using kernel = startPythonKernel();
    await kernel.run("def f():\n    return 1 / 0");
    const { stderr } = await kernel.run("import traceback\ntry: f()\nexcept Exception: traceback.print_exc()");
    expect(stderr).toContain("    return 1 / 0\n");
    expect((await kernel.run("import inspect\ninspect.getsource(f)")).result).toEqual({ "text/plain": "'def f():\\n    return 1 / 0\\n'" });
  });
});

describe("top-level await", () => {
  it("gives values and errors", async () => {
    await using kernel = startPythonKernel();
    expect((await kernel.run("import asyncio\nawait asyncio.sleep(0, 7)")).result).toEqual({ "text/plain": "7" });
    expect((await kernel.run("async def f(): raise KeyError('k')\nawait f()")).error?.name).toBe("KeyError");
    expect((await kernel.run("asyncio.run(asyncio.sleep(0, 8))")).result).toEqual({ "text/plain": "8" });
    expect((await kernel.run("await asyncio.sleep(0, 9)")).result).toEqual({ "text/plain": "9" });
  });

  it("lets a task of one run go on in the next", async () => {
    await using kernel = startPythonKernel();
    await kernel.run(
      "import asyncio\nasync def f():\n  await asyncio.sleep(0.01)\n  return 5\nt = asyncio.create_task(f())\nawait asyncio.sleep(0)",
    );
    expect((await kernel.run("(t.done(), await t)")).result).toEqual({ "text/plain": "(False, 5)" });
  });
});
