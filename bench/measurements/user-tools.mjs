import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { openClient } from "../mcp-client.mjs";
import { BELLJAR, PYTHON, compare, openHome, scaled, spawnPlain, time, until, waiting } from "../harness.mjs";

export const limitMs = 420_000;

const CODE = (name) => `@mcp.tool(description="Multiplies")\ndef ${name}(a: int, b: int = 7) -> int:\n    return a * b\n`;
const SCRIPT = '# ---\n# { "description": "Says done" }\n# ---\necho done\n';
/** The same function, read and called without Belljar. */
const PLAIN = ["-c", "def multiply(a: int, b: int = 7) -> int:\n    return a * b\nprint(multiply(6))"];
const MODULE = "def times(a, b):\n    return a * b\n";
const PACKED = (name) =>
  `import benched\n\n@mcp.tool(description="Multiplies")\ndef ${name}(a: int, b: int = 7) -> int:\n    return benched.times(a, b)\n`;
const PLAIN_PACKED = ["-c", "import benched\ndef multiply(a: int, b: int = 7) -> int:\n    return benched.times(a, b)\nprint(multiply(6))"];
const ZIP =
  "import json, sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], 'w') as z:\n    for n, t in json.loads(sys.argv[2]).items(): z.writestr(n, t)";
const STORED = 1_000;
/** A server has two of each kind. */
const WAITING = 4;
/** And of the tool's packages. */
const PACKED_WAITING = 2;
/** More calls at once than sandboxes wait. */
const BURST = 8;
const besidePacked = "python3 with the same package";

async function openServer(home) {
  const env = { ...home.env, PIP_INDEX_URL: wheelsOf(home) };
  const child = spawn(process.execPath, [BELLJAR, "serve", "--port", "0"], { env, stdio: ["ignore", "inherit", "pipe"] });
  for await (const line of createInterface({ input: child.stderr })) {
    const [, url] = /MCP at (\S+)\/mcp/.exec(line) ?? [];
    if (url === undefined) continue;
    child.stderr.resume();
    return { url, close: async () => void (child.kill("SIGTERM"), await once(child, "exit")) };
  }
  throw new Error("The server did not start");
}

const wheelsOf = ({ folder }) => join(folder, "wheels");

/** A package with one module, as a wheel and as it is installed. */
function makePackage(home) {
  for (const folder of ["wheels", "installed"]) mkdirSync(join(home.folder, folder));
  writeFileSync(join(home.folder, "installed/benched.py"), MODULE);
  const info = "benched-1.0.dist-info";
  const files = {
    "benched.py": MODULE,
    [`${info}/METADATA`]: "Metadata-Version: 2.1\nName: benched\nVersion: 1.0\n",
    [`${info}/WHEEL`]: "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    [`${info}/RECORD`]: `benched.py,,\n${info}/METADATA,,\n${info}/WHEEL,,\n${info}/RECORD,,\n`,
  };
  execFileSync("/usr/bin/python3", ["-c", ZIP, join(wheelsOf(home), "benched-1.0-py3-none-any.whl"), JSON.stringify(files)]);
}

/** The official client, with `belljar mcp` on the same home. */
async function openStdio(home) {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [BELLJAR, "mcp"], env: home.env, stderr: "inherit" }));
  return {
    async call(name, args) {
      const { content, isError } = await client.callTool({ name, arguments: args });
      if (isError) throw new Error(`It answered ${JSON.stringify(content)}`);
    },
    close: () => client.close(),
  };
}

const together = async (work) => void (await Promise.all(Array.from({ length: BURST }, work)));

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
  makePackage(home);
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
  await add("packed", { code: PACKED("packed"), requirements: ["benched==1.0"] });
  const env = { PYTHONPATH: join(home.folder, "installed") };
  const plainPacked = () => spawnPlain("/usr/bin/python3", PLAIN_PACKED, { stdout: "pipe", env });
  const packed = await compare({ reference: plainPacked, measured: () => call("packed"), blocks: 5, each: 8 });
  const packedReadied = await compare({
    reference: plainPacked,
    measured: async () => {
      await until(() => waiting(home.config).length === WAITING + PACKED_WAITING);
      return time(() => call("packed"));
    },
    blocks: 5,
    each: 8,
  });
  const burst = await compare({
    reference: () => together(plainPacked),
    measured: () => together(() => call("packed")),
    blocks: 3,
    each: 4,
  });
  await add("again", { reuse: "session" });
  const session = await openStdio(home);
  const again = await compare({ reference: plain.run, measured: () => session.call("again", { a: 6 }), blocks: 5, each: 20 });
  await session.close();
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
  const empty = await openHome();
  mkdirSync(wheelsOf(empty));
  const startAndStop = (of) => time(async () => (await openServer(of)).close());
  const started = await compare({ reference: () => startAndStop(empty), measured: () => startAndStop(home), blocks: 3, each: 3 });
  await empty.close();
  return [
    { what: "call of a Python tool, fresh sandbox from the pool", beside: plain.what, goal: 1.3, ...readied },
    { what: "call of a Python tool, fresh sandbox, one after another", beside: plain.what, ...called },
    { what: "call of a Python tool with a package, fresh sandbox that waited", beside: besidePacked, goal: 1.6, ...packedReadied },
    { what: "call of a Python tool with a package, fresh sandbox, one after another", beside: besidePacked, ...packed },
    {
      what: `${BURST} calls at once of a Python tool with a package`,
      beside: `${BURST} at once of python3 with the same package`,
      ...burst,
    },
    { what: "call of a Python tool whose sandbox is used again, over stdio", beside: plain.what, most: 4, ...again },
    { what: "add a Python tool, until it is in a list", beside: PYTHON.what, most: 150, ...added },
    { what: `tools/list with ${scaled(STORED)} stored tools`, beside: PYTHON.what, most: 3, ...listed },
    { what: `start and stop of a server with ${scaled(STORED)} stored tools`, beside: "with none", added: 1_000, ...started },
  ];
}
