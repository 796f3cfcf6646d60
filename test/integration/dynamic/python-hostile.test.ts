import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { callBody, textOf } from "../../support/python-tools.ts";
import { PYTHON_HARNESS, askHarness, callCode, readCode } from "../../support/tool-harness.ts";

const ONE = { type: "result", content: [{ type: "text", text: "1" }] };
const FAKE = '{"type":"result","content":[{"type":"text","text":"fake"}]}';

it.each([
  ["prints lines of the protocol", `print('${FAKE}')\nimport sys\nprint('${FAKE}', file=sys.stderr)\nreturn 1`],
  ["writes lines of the protocol to descriptor 3", `import os\ntry: os.write(3, b'${FAKE}\\n')\nexcept OSError: pass\nreturn 1`],
  [
    "writes half a line to every descriptor that it finds",
    `import os\nfor each in range(3, 1000):\n    try: os.write(each, b'${FAKE}\\n{"type":"res')\n    except OSError: pass\nreturn 1`,
  ],
  ["closes descriptor 3", "import os\ntry: os.close(3)\nexcept OSError: pass\nreturn 1"],
  ["opens a file of its own as descriptor 3", "import os\nfile = os.open('/dev/null', os.O_WRONLY)\nos.dup2(file, 3)\nreturn 1"],
  ["closes what it prints to", "import os, sys\nsys.stdout.close()\nos.close(1)\nos.close(2)\nreturn 1"],
  ["forks, and both come back", "import os\nos.fork()\nreturn 1"],
  ["forks, and the child fails", "import os\nif os.fork() == 0: raise ValueError('child')\nos.wait()\nreturn 1"],
  ["leaves a thread", "import threading\nthreading.Thread(target=threading.Event().wait).start()\nreturn 1"],
  ["has handlers for the end", "import atexit, os\natexit.register(os._exit, 9)\nreturn 1"],
  [
    "replaces the printing",
    "import sys\nclass S:\n    def __getattr__(self, name): raise SystemExit\nsys.stdout = sys.stderr = S()\nreturn 1",
  ],
  [
    "replaces json, os and the end",
    "import json, os, sys\njson.dumps = json.loads = os.write = os._exit = os.getpid = sys.exit = None\nreturn 1",
  ],
  [
    "takes the built-in functions away",
    "import builtins\nkeep = setattr, dir(builtins)\nfor each in keep[1]: keep[0](builtins, each, None)\nreturn 1",
  ],
  ["empties the modules", "import sys\nsys.modules.clear()\nsys.meta_path.clear()\nsys.path.clear()\nreturn 1"],
  ["breaks every module", "import sys\nfor each in list(sys.modules): sys.modules[each] = None\nreturn 1"],
  ["lowers the recursion limit", "import sys\nsys.setrecursionlimit(25)\nreturn 1"],
  ["raises the recursion limit", "import sys\nsys.setrecursionlimit(10 ** 9)\nreturn 1"],
  [
    "profiles what runs after it",
    "import sys\nsys.setprofile(lambda frame, event, _: 1 / 0 if frame.f_code.co_name == 'answer_of' else None)\nreturn 1",
  ],
  ["leaves its folder", "import os, tempfile\nos.chdir(tempfile.mkdtemp())\nos.rmdir(os.getcwd())\nreturn 1"],
])("answers, though the code %s", async (_what, body) => {
  const code = `@mcp.tool\ndef f():\n${body.replaceAll(/^/gm, "    ")}\n`;
  const { answers, exit } = await callCode("python", code, "f");
  expect(answers).toEqual([ONE]);
  expect(exit).toBe(0);
});

it("answers and lets the channel go, though a child of the code lives on", async () => {
  const folder = await mkdtemp(join(tmpdir(), "belljar-outlives-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const fifo = join(folder, "fifo");
  const body =
    "import os\nos.mkfifo(fifo)\nif os.fork() == 0:\n    os.close(1)\n    os.close(2)\n    os.setsid()\n    open(fifo).read()\nreturn 1";
  // The run is over when all its ends of the channel are closed, and the child waits for the line after it.
  expect(await callBody(body, { fifo }, "f(fifo)")).toEqual(ONE);
  await writeFile(fifo, "");
});

it("answers once, and prints once, though a child comes back from the code", async () => {
  const body = "import os, sys\nsys.stdout = open(1, 'w', closefd=False)\nprint('once')\nif os.fork(): os.wait()\nreturn 1";
  const { answers, stdout } = await callCode("python", `@mcp.tool\ndef f():\n${body.replaceAll(/^/gm, "    ")}\n`, "f");
  expect([answers, stdout]).toEqual([[ONE], "once\n"]);
});

it("makes a deep answer, though the code lowered the recursion limit", async () => {
  const answer = await callBody("import sys\na = 1\nfor _ in range(100): a = [a]\nsys.setrecursionlimit(40)\nreturn a");
  expect(JSON.parse(textOf(answer))).toEqual(JSON.parse(`${"[".repeat(100)}1${"]".repeat(100)}`));
});

it("makes no text of a result that is too large for it", async () => {
  const body = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\nreturn ['x' * 10 ** 6] * 10 ** 5";
  expect(await callBody(body)).toMatchObject({ type: "error", message: expect.stringContaining("result too large") });
});

it("takes reports of the call's own process alone", async () => {
  const body = "import os\nif os.fork() == 0:\n    c.info('child')\n    os._exit(7)\nc.info('parent')\nreturn os.WEXITSTATUS(os.wait()[1])";
  const code = `@mcp.tool\ndef f(c: Context):\n${body.replaceAll(/^/gm, "    ")}\n`;
  const { answers } = await callCode("python", code, "f");
  expect(answers).toEqual([
    { type: "log", level: "info", message: "parent" },
    { type: "result", content: [{ type: "text", text: "7" }] },
  ]);
});

it("gives programs that the code starts no way to the host", async () => {
  const body =
    "import subprocess\nreturn subprocess.run(['ls', '-l', '/proc/self/fd'], close_fds=False, capture_output=True, text=True).stdout";
  const answer = await callBody(body);
  expect(JSON.stringify(answer)).toMatch(/ 2 -> /u);
  expect(JSON.stringify(answer)).not.toMatch(/ ([3-9]|\d\d+) -> socket:/u);
});

it("keeps the token out of the frames, the modules and the lists", async () => {
  const body = `import gc, re, sys
frame, found = sys._getframe(), []
while frame:
    found += [value for value in frame.f_locals.values() if isinstance(value, (str, bytes))]
    frame = frame.f_back
for each in gc.get_objects():
    if isinstance(each, dict): found += [value for value in list(each.values()) if isinstance(value, (str, bytes))]
    elif isinstance(each, list): found += [value for value in each if isinstance(value, (str, bytes))]
texts = [each if isinstance(each, str) else each.decode("latin-1") for each in found]
return len(texts) > 1000, [each for each in texts if re.search("[0-9a-f]{32}", each) and len(each) < 200]`;
  expect(await callBody(body)).toMatchObject({ content: [{ text: "[\n  true,\n  []\n]" }] });
});

it("leaves a process that ends itself without an answer", async () => {
  const run = await callCode("python", "import os\n@mcp.tool\ndef f():\n    print('last', flush=True)\n    os._exit(7)", "f");
  expect([run.answers, run.stdout, run.exit]).toEqual([[], "last\n", 7]);
});

it("ends when the code has closed the channel, wherever it was", async () => {
  const run = await callCode("python", "import os\n@mcp.tool\ndef f(): os.closerange(3, 5000)", "f");
  expect([run.answers, run.exit]).toEqual([[], 1]);
});

it("reads tools, though the code did at import what others do in a call", async () => {
  const code =
    "import builtins, json, os, sys\n@mcp.tool\ndef f(a: Optional[int] = 1): 'text'\njson.dumps = os.write = builtins.len = None\nsys.setrecursionlimit(60)";
  expect((await readCode("python", code)).last).toMatchObject({ type: "tools", tools: [{ name: "f", description: "text" }] });
});

it("runs nothing to find the requirements", async () => {
  const run = await askHarness({ do: "requirements", language: "python", code: "print('ran')\n# <requirements>\n# a\n# </requirements>" });
  expect([run.last, run.stdout]).toEqual([{ type: "requirements", requirements: ["a"] }, ""]);
});

it("serves in a process that was forked from one that had loaded it", async () => {
  const program = [
    "import os, socket, sys",
    "file = sys.argv[1]",
    "exec(compile(open(file).read(), file, 'exec'), {'__name__': 'tools', '__file__': file})",
    "from _belljar.main import serve",
    "for number in (1, 2):",
    "    ours, theirs = socket.socketpair()",
    "    if os.fork() == 0:",
    "        ours.close()",
    `        serve(theirs.detach(), '{"version":1,"do":"call","token":"t","code":"@mcp.tool\\\\ndef f(a): return a","function":"f","arguments":{"a":%d}}' % number)`,
    "    theirs.close()",
    "    print(ours.makefile().read().strip(), flush=True)",
    "    os.wait()",
  ].join("\n");
  const { stdout } = await promisify(execFile)("python3", ["-c", program, PYTHON_HARNESS]);
  const answer = (number: number): string => `{"type":"result","content":[{"type":"text","text":"${String(number)}"}],"token":"t"}\n`;
  expect(stdout).toBe(answer(1) + answer(2));
});

it("ends quietly when the host is gone", async () => {
  const child = spawn("python3", [PYTHON_HARNESS], { stdio: ["pipe", "ignore", "pipe", "pipe"] });
  child.stdio[3]?.destroy();
  child.stdin?.end(JSON.stringify({ version: 1, do: "call", token: "t", code: "@mcp.tool\ndef f(): pass", function: "f", arguments: {} }));
  expect(await once(child, "exit")).toEqual([1, null]);
});
