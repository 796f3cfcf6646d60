import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { openClient } from "../mcp-client.mjs";
import { BELLJAR, PYTHON, compare, scaled, spawnPlain, time, until, waiting } from "../harness.mjs";

export const limitMs = 420_000;

const CODE = (name) => `@mcp.tool(description="Multiplies")\ndef ${name}(a: int, b: int = 7) -> int:\n    return a * b\n`;
const SCRIPT = '# ---\n# { "description": "Says done" }\n# ---\necho done\n';
/** The same function, read and called without Belljar. */
const PLAIN = ["-c", "def multiply(a: int, b: int = 7) -> int:\n    return a * b\nprint(multiply(6))"];
const STORED = 1_000;
/** A server has two of each kind. */
const WAITING = 4;

async function openServer(home) {
  const child = spawn(process.execPath, [BELLJAR, "serve", "--port", "0"], { env: home.env, stdio: ["ignore", "inherit", "pipe"] });
  for await (const line of createInterface({ input: child.stderr })) {
    const [, url] = /MCP at (\S+)\/mcp/.exec(line) ?? [];
    if (url === undefined) continue;
    child.stderr.resume();
    return { url, close: async () => void (child.kill("SIGTERM"), await once(child, "exit")) };
  }
  throw new Error("The server did not start");
}

async function ask(url, method, path, body) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response.status === 204 ? undefined : response.json();
}

/** Users' tools on a server: from the upload to the list, and calls in a fresh sandbox each, as a client has them over HTTP. */
export async function measure(home) {
  const server = await openServer(home);
  const client = openClient(server.url);
  const add = (name, more = {}) =>
    ask(server.url, "POST", "/v1/tools", { name, language: "python", code: CODE(name), publish: true, ...more });
  const call = (name) => client.post("tools/call", { name, arguments: { a: 6 } }, 1);
  await add("multiply");
  const plain = { what: "python3 with the same function", run: () => spawnPlain("/usr/bin/python3", PLAIN, { stdout: "pipe" }) };
  const called = await compare({ reference: plain.run, measured: () => call("multiply"), blocks: 5, each: 8 });
  const readied = await compare({
    reference: plain.run,
    measured: async () => {
      await until(() => waiting(home.config).length === WAITING);
      return time(() => call("multiply"));
    },
    blocks: 5,
    each: 8,
  });
  let count = 0;
  const added = await compare({
    reference: PYTHON.run,
    measured: async () => {
      const name = `added_${(count += 1)}`;
      const ms = await time(async () => {
        await add(name);
        await client.post("tools/list", {}, 1);
      });
      await ask(server.url, "DELETE", `/v1/tools/${name}`);
      return ms;
    },
    blocks: 4,
    each: 5,
  });
  for (let stored = 0; stored < scaled(STORED); stored += 1)
    await ask(server.url, "POST", "/v1/tools", { name: `stored_${stored}`, language: "shell", code: SCRIPT, publish: true });
  const listed = await compare({ reference: PYTHON.run, measured: () => client.post("tools/list", {}, 1), blocks: 4, each: 25 });
  client.close?.();
  await server.close();
  const started = await compare({
    reference: PYTHON.run,
    measured: () => time(async () => (await openServer(home)).close()),
    blocks: 1,
    each: 5,
  });
  return [
    { what: "call of a Python tool, fresh sandbox from the pool", beside: plain.what, goal: 1.3, ...readied },
    { what: "call of a Python tool, fresh sandbox, one after another", beside: plain.what, ...called },
    { what: "add a Python tool, until it is in a list", beside: PYTHON.what, most: 150, ...added },
    { what: `tools/list with ${scaled(STORED)} stored tools`, beside: PYTHON.what, most: 3, ...listed },
    { what: `start and stop of a server with ${scaled(STORED)} stored tools`, beside: PYTHON.what, ...started },
  ];
}
