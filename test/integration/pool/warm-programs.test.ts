import { expect, it } from "vitest";
import type { Program, ProgramResult } from "../../../src/interpreter/program.ts";
import { LOCAL } from "../../../src/sandbox/sandbox.ts";
import { openPoolLab, type PoolProcess } from "../../support/pool-lab.ts";

const python = (code: string, more: Partial<Program> = {}): Program => ({ language: "python", code, ...more });
const run = (place: PoolProcess, program: Program, timeoutMs = 20_000): Promise<ProgramResult> =>
  place.interpreter.runProgram(LOCAL, program, { signal: AbortSignal.timeout(30_000), timeoutMs });
const taken = ({ sandboxes }: PoolProcess): number | undefined => sandboxes.poolCounts()[0]?.taken;

/** What a program can see of how it was started, and of the Python around it. */
const LOOK = `
import json, os, sys, traceback
known = {"__name__", "__file__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__", "__annotations__", "__cached__"}
print(json.dumps({
    "argv": sys.argv, "path": sys.path, "name": __name__, "file": __file__, "own": sorted(set(globals()) & known),
    "env": {name: value for name, value in sorted(os.environ.items())},
    "fds": sorted(os.listdir("/proc/self/fd"))[:3], "cwd": os.getcwd(), "depth": len(traceback.extract_stack()),
    "flags": str(sys.flags), "hash": sys.flags.hash_randomization, "stdin": sys.stdin.read(), "umask": os.umask(0),
    "site": getattr(sys.modules.get("sitecustomize"), "__file__", None), "uid": os.getuid(), "pgid": os.getpgid(0) == os.getpid(),
    "finders": [getattr(finder, "__name__", "") for finder in sys.meta_path], "own modules": [name for name in sys.modules if "belljar" in name],
}))
`;

it("a program that runs in a Python that waited sees what it sees in a new one", async () => {
  await using lab = await openPoolLab();
  const [warm, cold] = [await lab.open({ programs: 1 }), await lab.open({})];
  await lab.hasWaiting(1);
  const seen = [await run(warm, python(LOOK)), await run(cold, python(LOOK))].map(({ stdout, stderr }) => [
    JSON.parse(stdout) as unknown,
    stderr,
  ]);
  expect(taken(warm)).toBe(1);
  expect(seen[0]).toEqual(seen[1]);
});

it.each([
  ["a failure", "def fail():\n    raise ValueError('no')\nfail()", 1],
  ["a chosen exit", "import sys\nprint('out')\nsys.exit(7)", 7],
  ["a text as the exit", "raise SystemExit('so it ends')", 1],
  ["an error of syntax", "print(1\n", 1],
  [
    "what is registered for the end",
    "import atexit, threading\natexit.register(print, 'last')\nthreading.Thread(target=print, args=('t',)).start()",
    0,
  ],
])("%s ends it as it ends a new one", async (_what, code, exitCode) => {
  await using lab = await openPoolLab();
  const [warm, cold] = [await lab.open({ programs: 1 }), await lab.open({})];
  await lab.hasWaiting(1);
  const [one, other] = [await run(warm, python(code)), await run(cold, python(code))];
  expect(taken(warm)).toBe(1);
  expect({ ...one, durationMs: 0, windows: 0 }).toEqual({ ...other, durationMs: 0, windows: 0 });
  expect(one.exitCode).toBe(exitCode);
});

it("a program gets its input and variables, is killed at its time limit, and counts from its own start", async () => {
  await using lab = await openPoolLab();
  const warm = await lab.open({ programs: 1 });
  await lab.hasWaiting(1);
  const code = "import os, sys\nprint(sys.stdin.read(), os.environ['X'], os.popen('printf $X').read())";
  expect((await run(warm, python(code, { stdin: "in", env: { X: "y" } }))).stdout).toBe("in y y\n");
  await lab.hasWaiting(1);
  const late = await run(warm, python("print('begun', flush=True)\nwhile True: pass"), 300);
  expect(late).toMatchObject({ status: "timeout", stdout: "begun\n", exitCode: undefined });
  expect(late.durationMs).toBeLessThan(10_000);
  expect(taken(warm)).toBe(2);
});

it("two programs have seeds of their own", async () => {
  await using lab = await openPoolLab();
  const warm = await lab.open({ programs: 1 });
  const seen = new Set<string>();
  for (let turn = 0; turn < 3; turn++) {
    await lab.hasWaiting(1);
    const { stdout } = await run(
      warm,
      python("import random, uuid, os, ssl\nprint(hash('a'), random.random(), uuid.uuid4(), ssl.RAND_bytes(8).hex())"),
    );
    for (const text of stdout.trim().split(" ")) seen.add(text);
  }
  expect(taken(warm)).toBe(3);
  expect(seen.size).toBe(12);
});

it("a program of another language, or with modules of its own, starts its interpreter itself", async () => {
  await using lab = await openPoolLab();
  const warm = await lab.open({ programs: 1 });
  await lab.hasWaiting(1);
  expect(
    (await run(warm, { language: "bash", code: "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'python[3] main'; echo done" })).stdout,
  ).toBe("0\ndone\n");
  await lab.hasWaiting(1);
  const own = python("import random\nprint(random.mine)", { files: [{ name: "random.py", content: "mine = 'yes'" }] });
  expect((await run(warm, own)).stdout).toBe("yes\n");
  await lab.hasWaiting(1);
  expect((await run(warm, python("import os\nprint(os.environ['TZ'])", { env: { TZ: "Asia/Tokyo" } }))).stdout).toBe("Asia/Tokyo\n");
  expect(taken(warm)).toBe(3);
});
