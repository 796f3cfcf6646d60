import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import type { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { toWish } from "../../../src/interpreter/warm/warm-program.ts";
import { askHarness, callCode, type HarnessRun } from "../../support/tool-harness.ts";

/** A call in a Python that was started for it, and in one that waited. */
async function both(code: string, args: object = {}): Promise<readonly [HarnessRun, HarnessRun]> {
  const run = (waits: boolean): Promise<HarnessRun> => callCode("python", code, "tool", args, { waits });
  return Promise.all([run(false), run(true)]);
}

it.each([
  ["a result and what it prints", "@mcp.tool\ndef tool(n: int = 3):\n    print('out')\n    return n * 2"],
  ["structure", "from typing import TypedDict\nclass T(TypedDict):\n    a: int\n@mcp.tool\ndef tool() -> T:\n    return {'a': 1}"],
  ["an error with its lines", "@mcp.tool\ndef tool():\n    {}['k']"],
  ["code that does not compile", "def tool(:\n"],
  ["code that ends the process", "import sys\nsys.exit(3)"],
  ["a coroutine", "@mcp.tool\nasync def tool():\n    import asyncio\n    await asyncio.sleep(0)\n    return 'late'"],
  ["progress and logs", "@mcp.tool\nasync def tool(ctx: Context):\n    await ctx.report_progress(1, 2)\n    ctx.info('x')\n    return 1"],
  ["a child that comes back", "import os\n@mcp.tool\ndef tool():\n    os.fork()\n    return 'once'"],
  ["a channel that the code closes", "import os\n@mcp.tool\ndef tool():\n    os.closerange(3, 1024)\n    return 1"],
  ["a standard output that the code closes", "import sys\n@mcp.tool\ndef tool():\n    sys.stdout.close()\n    return 1"],
  ["what is spoilt", "import builtins, json\njson.dumps = None\nbuiltins.len = None\n@mcp.tool\ndef tool():\n    return 'sound'"],
  [
    "its source",
    "import inspect\n@mcp.tool\ndef tool():\n    import __main__, sys\n    return [inspect.getsource(tool), __name__, __file__, sys.argv, __main__.__name__]",
  ],
  [
    "what it finds loaded of Belljar",
    "import sys\n@mcp.tool\ndef tool():\n    return sorted(m for m in sys.modules if '__' in m or m == 'sitecustomize')",
  ],
  [
    "where it looks for modules",
    "import sys\n@mcp.tool\ndef tool():\n    return [sys.path, [getattr(f, '__name__', '') for f in sys.meta_path]]",
  ],
  ["descriptors", "import os\n@mcp.tool\ndef tool():\n    return [os.path.exists('/proc/self/fd/%d' % fd) for fd in range(3, 20)]"],
])("%s is the same as in a new Python", async (_what, code) => {
  const [cold, waited] = await both(code);
  expect(waited).toEqual(cold);
  expect(cold.exit).toBeTypeOf("number");
});

it("reads tools as a new Python does", async () => {
  const code = "@mcp.tool(description='Adds')\ndef add(a: int, b: int = 2) -> int:\n    return a + b";
  const read = (waits: boolean): Promise<HarnessRun> => askHarness({ do: "read", language: "python", code }, { waits });
  const [cold, waited] = [await read(false), await read(true)];
  expect(waited).toEqual(cold);
  expect(cold.last).toMatchObject({ type: "tools", tools: [{ name: "add" }] });
});

it("lets a thread import what Python imports at its start", async () => {
  const code =
    "import threading\n@mcp.tool\ndef tool():\n    done = []\n    def work():\n        import site, sitecustomize\n        done.append(1)\n    t = threading.Thread(target=work, daemon=True)\n    t.start()\n    t.join(20)\n    return done";
  const [, waited] = await both(code.replace(", sitecustomize", ""));
  expect(waited.last).toMatchObject({ type: "result", content: [{ type: "text", text: "[\n  1\n]" }] });
});

it("has the variables that it was handed", async () => {
  const [, waited] = await both(
    "import os\n@mcp.tool\ndef tool():\n    return [os.environ.get('BELLJAR_TEST'), os.environ.get('BELLJAR_IMPORTS'), os.environ.get('PYTHONPATH')]",
  );
  expect(waited.last).toMatchObject({ type: "result", content: [{ text: '[\n  "set",\n  null,\n  null\n]' }] });
});

it("leaves an order that comes together with its variables to the harness of a session", async () => {
  const env = { ...process.env, PYTHONPATH: resolve(import.meta.dirname, "../../../dist/kernels") };
  const child = spawn("python3", ["main.py"], { env, stdio: ["pipe", "ignore", "pipe", "pipe"], timeout: 60_000, killSignal: "SIGKILL" });
  const channel = child.stdio[3] as Duplex;
  const ended = once(child, "exit");
  await once(channel, "data"); // it is ready
  const order = { version: 1, name: "tool", token: "t", do: "requirements", language: "python", code: "é" };
  channel.write(`${toWish({ env: { NAME: "é" }, tool: ["orders"] })}${"a".repeat(32)} ${JSON.stringify(order)}\n`);
  let said = "";
  for await (const chunk of channel) {
    said += String(chunk);
    if (said.includes("}")) break;
  }
  expect(said).toContain('"type":"requirements"');
  await ended;
});
