import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { Sandbox } from "@e2b/code-interpreter";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { E2bLab } from "../../support/e2b-lab.ts";
import { openE2bLab } from "../../support/e2b-lab.ts";

let lab: E2bLab;
let sandbox: Sandbox;
beforeAll(async () => {
  lab = await openE2bLab();
  sandbox = await Sandbox.create({ ...lab.options, envs: { FOO: "sandbox" } });
}, 60_000);
afterAll(() => lab[Symbol.asyncDispose](), 60_000);

const textOf = async (code: string, options: object = {}): Promise<string | undefined> => (await sandbox.runCode(code, options)).text;

it("tells what code says while it runs, and all of it at the end", async () => {
  const told: unknown[] = [];
  const wait = "import os, sys, time\nprint('a')\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\n";
  const run = await sandbox.runCode(`${wait}print('b', file=sys.stderr)\nx = 41\nx + 1`, {
    onStdout: async ({ line }) => {
      told.push(line);
      await sandbox.runCode("require('fs').writeFileSync('/tmp/go', '')", { language: "js" });
    },
    onStderr: ({ line }) => void told.push(line),
    onResult: ({ text: value, isMainResult, extra }) => void told.push([value, isMainResult, extra]),
  });
  expect(told).toEqual(["a\n", "b\n", ["42", true, {}]]);
  expect([run.text, run.logs, run.error]).toEqual(["42", { stdout: ["a\n"], stderr: ["b\n"] }, undefined]);
  const count = run.executionCount ?? 0;
  const errors: unknown[] = [];
  const failed = await sandbox.runCode("print(x)\nmissing", { onError: ({ name }) => void errors.push(name) });
  expect([failed.executionCount, failed.logs.stdout, errors]).toEqual([count + 1, ["41\n"], ["NameError"]]);
  expect(failed.error).toMatchObject({ value: "name 'missing' is not defined", traceback: expect.stringContaining("missing") as string });
});

it("shows values in every form that they have", async () => {
  const kinds = ["html", "markdown", "svg", "latex"];
  const methods = kinds.map((kind) => `  def _repr_${kind}_(self): return '${kind}!'`).join("\n");
  const code = `class All:\n${methods}\n  def _repr_png_(self): return b'PNG'\n  def _repr_json_(self): return {'a': 1}
  def _repr_mimebundle_(self, include=None, exclude=None): return {'application/javascript': 'alert(1)', 'application/vnd.vega+json': {'v': 1}}
display(All())\nprint('between')\ndisplay('shown')\n'text'`;
  const { results, logs } = await sandbox.runCode(code);
  expect(results.map(({ isMainResult, text: shown }) => [isMainResult, shown])).toEqual([
    [false, expect.stringContaining("All object") as string],
    [false, "shown"],
    [true, "text"],
  ]);
  expect(results[0]).toMatchObject({ html: "html!", markdown: "markdown!", svg: "svg!", latex: "latex!", png: "UE5H", json: { a: 1 } });
  expect(results[0]).toMatchObject({ javascript: "alert(1)", raw: { extra: { "application/vnd.vega+json": { v: 1 } } } });
  expect(logs.stdout).toEqual(["between\n"]);
  expect((await sandbox.runCode("{'a': [1]}")).results[0]).toMatchObject({ json: { a: [1] }, text: "{'a': [1]}" });
});

it("knows E2B's names of languages, and tells how a shell's command ended", async () => {
  expect(await textOf("[1, 2].map((n) => n * 2)", { language: "js" })).toBe("[ 2, 4 ]");
  expect(await textOf("const n: number = await Promise.resolve(20);\nn + 1", { language: "ts" })).toBe("21");
  const shell = await sandbox.runCode("echo $FOO; pwd; exit_code() { return 3; }; exit_code", { language: "bash" });
  expect([shell.logs.stdout.join(""), shell.error?.value]).toEqual(["sandbox\n/home/user\n", "3"]);
});

it("gives variables to one run alone, above those of the sandbox", async () => {
  const code = "import os\nos.environ.get('FOO'), os.environ.get('BAR')";
  expect(await textOf(code)).toBe("('sandbox', None)");
  expect(await textOf(code, { envs: { FOO: "run", BAR: "1" } })).toBe("('run', '1')");
  expect(await textOf(code)).toBe("('sandbox', None)");
  expect(await textOf("process.env.FOO", { language: "javascript", envs: { FOO: "run" } })).toBe("run");
});

it("keeps contexts apart, each in its folder, and forgets what a restart forgets", async () => {
  const defaults = [
    { id: "python", language: "python", cwd: "/home/user" },
    { id: "javascript", language: "javascript", cwd: "/home/user" },
  ];
  expect((await sandbox.listCodeContexts()).slice(0, 2)).toEqual(defaults);
  const context = await sandbox.createCodeContext({ cwd: "/tmp" });
  expect(context).toEqual({ id: expect.any(String) as string, language: "python", cwd: "/tmp" });
  await sandbox.runCode("only_here = 1", { context });
  expect((await sandbox.runCode("only_here")).error?.name).toBe("NameError");
  expect(await textOf("import os; (only_here, os.getcwd())", { context })).toBe("(1, '/tmp')");
  await sandbox.restartCodeContext(context);
  expect(await sandbox.listCodeContexts()).toContainEqual(context);
  expect((await sandbox.runCode("only_here", { context })).error?.name).toBe("NameError");
  expect(await textOf("import os; os.getcwd()", { context })).toBe("/tmp");
  await sandbox.removeCodeContext(context);
  expect(await sandbox.listCodeContexts()).not.toContainEqual(context);
  const missing = { name: "NotFoundError", message: `Context ${context.id} not found` };
  await expect(sandbox.runCode("1", { context })).rejects.toMatchObject(missing);
  await expect(sandbox.restartCodeContext(context)).rejects.toMatchObject(missing);
  await expect(sandbox.removeCodeContext(context)).rejects.toMatchObject(missing);
});

it("interrupts code whose client has gone, keeps its variables, and goes on", async () => {
  await sandbox.runCode("kept = 1");
  const late = sandbox.runCode("import time\ntime.sleep(300)", { timeoutMs: 300 });
  await expect(late).rejects.toMatchObject({ name: "TimeoutError" });
  expect(await textOf("kept")).toBe("1");
});

it("runs what comes at once for one context one after the other", async () => {
  await sandbox.runCode("order = []");
  const runs = [1, 2, 3].map((n) => sandbox.runCode(`import time\norder.append(${n})\ntime.sleep(0.05)\norder.append(${n})`));
  await Promise.all(runs);
  const order = JSON.parse((await textOf("order")) ?? "") as number[];
  expect(order.filter((_, at) => at % 2 === 0)).toEqual(order.filter((_, at) => at % 2 === 1));
});

it("tells of a context that ends in a run, and starts it again", async () => {
  const { error } = await sandbox.runCode("import os\nos._exit(3)");
  expect(error).toMatchObject({ name: "ContextRestarting", value: expect.stringContaining("exit code 3") as string });
  expect(await textOf("1 + 1")).toBe("2");
});

interface Made {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
  readonly trafficAccessToken: string;
}

async function make(): Promise<Made> {
  const answer = await lab.askAsOwner("/v2/sandboxes", { method: "POST", body: JSON.stringify({ templateID: "base" }) });
  return (await answer.json()) as Made;
}

function headersOf({ sandboxID, ...tokens }: Partial<Made>): Record<string, string> {
  return {
    "content-type": "application/json",
    "e2b-sandbox-port": "49999",
    ...(sandboxID && { "e2b-sandbox-id": sandboxID }),
    ...(tokens.envdAccessToken && { "x-access-token": tokens.envdAccessToken }),
    ...(tokens.trafficAccessToken && { "e2b-traffic-access-token": tokens.trafficAccessToken }),
  };
}

/** The answer, of which nothing is read yet. */
async function startRun(made: Made, code: string): Promise<IncomingMessage> {
  const asked = request(`${lab.url}/execute`, { method: "POST", headers: headersOf(made) });
  asked.end(JSON.stringify({ code }));
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return answer;
}

it("refuses what it cannot read in plain words", async () => {
  const made = await make();
  const ask = (headers: Record<string, string>, body: unknown, path = "/execute") =>
    lab.ask(path, { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify(body) });
  const { sandboxID } = made;
  const bodies: readonly [unknown, number][] = [
    [{ code: "1", context_id: "python", language: "python" }, 400],
    [{ code: "1", context_id: "python-00000000" }, 404],
    [{ code: "1", context_id: "../x" }, 404],
    [{ code: 1 }, 400],
    [{}, 400],
    ["{", 400],
    [{ code: "1\0" }, 400],
    [{ code: "1", env_vars: { A: 1 } }, 400],
    [{ code: "1", env_vars: { "": "" } }, 400],
    [{ code: `#${"x".repeat(17_000_000)}` }, 413],
  ];
  for (const [body, status] of bodies) {
    const answer = await ask(headersOf(made), body);
    expect([answer.status, answer.headers.get("content-type")], JSON.stringify(body).slice(0, 80)).toEqual([
      status,
      "text/plain; charset=utf-8",
    ]);
  }
  const unknown = await ask(headersOf(made), { code: "1", language: "cobol" });
  expect([unknown.status >= 400, await unknown.text()]).toEqual([true, expect.stringContaining("cobol")]);
  expect((await ask(headersOf(made), { language: "python", cwd: "/missing" }, "/contexts")).status).toBe(404);
  const nulls = await ask(headersOf(made), { code: "1+1", context_id: null, language: null, env_vars: null });
  const frames = (await nulls.text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string });
  expect(frames.map(({ type }) => type)).toEqual(["keepalive", "result", "number_of_executions", "end_of_execution"]);
  expect(await (await lab.ask("/health", { headers: headersOf({ sandboxID }) })).json()).toBe("OK");
});

/** Says by a file whether the flood stood still before its end. */
const FLOOD = `import threading, time
count, done = 0, False
def watch():
  last = -1
  while not done and count != last:
    last = count
    time.sleep(0.5)
  open('/tmp/through' if done else '/tmp/blocked', 'w').close()
threading.Thread(target=watch).start()
for count in range(640): print('x' * 100_000)
done = True`;
const FOUND = `const fs = require('fs')
await new Promise((found) => {
  const timer = setInterval(() => {
    const name = ['blocked', 'through'].find((each) => fs.existsSync('/tmp/' + each))
    if (name) found(name, clearInterval(timer))
  }, 20)
})`;

it("has code wait for a client that does not read, and holds none of what it prints", async () => {
  const made = await make();
  const answer = await startRun(made, FLOOD);
  const found = await lab.ask("/execute", {
    method: "POST",
    headers: headersOf(made),
    body: JSON.stringify({ code: FOUND, language: "js" }),
  });
  expect(await found.text()).toContain('"text":"blocked"');
  let size = 0;
  for await (const chunk of answer) size += (chunk as Buffer).length;
  expect(size).toBeGreaterThan(64_000_000);
});

it("cuts the answer of a sandbox that ends in a run, and answers 502 afterwards", async () => {
  const made = await make();
  const answer = await startRun(made, "import time\nprint('begun', flush=True)\ntime.sleep(300)");
  await once(answer, "readable");
  const ended = Promise.allSettled([text(answer)]);
  const { stdout: token } = await lab.cli.run(["token", "create", "agent"]);
  const headers = { authorization: `Bearer ${token.trim()}` };
  expect((await lab.ask(`/v1/sandboxes/${made.sandboxID}`, { method: "DELETE", headers })).ok).toBe(true);
  expect(await ended).toMatchObject([{ status: "rejected", reason: { code: "ECONNRESET" } }]);
  for (const [path, method] of [
    ["/execute", "POST"],
    ["/contexts", "GET"],
    ["/health", "GET"],
  ] as const) {
    const body = method === "POST" ? { body: JSON.stringify({ code: "1" }) } : {};
    const gone = await lab.ask(path, { method, headers: headersOf(made), ...body });
    expect([gone.status, await gone.json()]).toMatchObject([502, { sandboxId: made.sandboxID, code: 502 }]);
  }
});
