import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ROOT, compare, summarise } from "../harness.mjs";

const SERVER = join(ROOT, "bench/fixtures/tool-server.mjs");
const VERSION = "2026-07-28";
const AT_ONCE = 32;
const BATCH = 320;
const ROUNDS = 5;
const META = {
  "io.modelcontextprotocol/protocolVersion": VERSION,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
};
const CALL = { name: "echo", arguments: { text: "hello" } };

/** Tools over MCP, beside the official SDK's own low-level server with the same tool; raw bytes, so that no client's work counts. */
export async function measure() {
  return [
    await withServers(
      measureParallel,
      () => openHttp("bare"),
      () => openHttp("belljar"),
    ),
    await withServers(
      measureStdio,
      () => openStdio("bare"),
      () => openStdio("belljar"),
    ),
    await withServers(measureList, () => openHttp("belljar", 1_000)),
  ];
}

async function withServers(work, ...starts) {
  const servers = [];
  try {
    for (const start of starts) servers.push(await start());
    return await work(...servers);
  } finally {
    for (const server of servers) await server.close();
  }
}

/** As a time per call, so that less is better in every row. */
async function measureParallel(bare, belljar) {
  const perCall = async (server) => {
    const started = performance.now();
    const queue = Array.from({ length: BATCH }, (_, id) => id);
    const work = async () => {
      while (queue.length > 0) await server.post("tools/call", CALL, queue.pop());
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return (performance.now() - started) / BATCH;
  };
  const compared = await compare({ reference: () => perCall(bare), measured: () => perCall(belljar), blocks: ROUNDS, each: 4 });
  return { what: `MCP tools/call over HTTP, ${AT_ONCE} at once`, goal: 1.11, beside: "the bare SDK server", ...compared };
}

async function measureStdio(bare, belljar) {
  await bare.send("tools/call", CALL);
  await belljar.send("tools/call", CALL);
  const works = { reference: () => bare.send("tools/call", CALL), measured: () => belljar.send("tools/call", CALL) };
  return {
    what: "MCP tools/call over stdio",
    goal: 1.5,
    beside: "the bare SDK server",
    ...(await compare({ ...works, blocks: 10, each: 100 })),
  };
}

async function measureList(belljar) {
  const samples = [];
  for (let i = 0; i < 300; i += 1) {
    const started = performance.now();
    await belljar.post("tools/list", {}, i);
    if (i >= 50) samples.push(performance.now() - started);
  }
  return { what: "MCP tools/list of 1,000 tools over HTTP", most: 2, measured: summarise(samples) };
}

async function openHttp(who, count = 1) {
  const child = fork(SERVER, [who, "http", String(count)], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const [{ port }] = await once(child, "message");
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": VERSION };
  return {
    async post(method, params, id) {
      const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: META } });
      const named = params.name ? { "mcp-name": params.name } : {};
      const sent = request({
        port,
        host: "127.0.0.1",
        path: "/mcp",
        method: "POST",
        agent,
        headers: { ...headers, "mcp-method": method, ...named },
      });
      sent.end(body);
      const [response] = await once(sent, "response");
      let bytes = 0;
      for await (const chunk of response) bytes += chunk.length;
      if (response.statusCode !== 200 || bytes === 0) throw new Error(`${who} answered ${response.statusCode}`);
    },
    async close() {
      agent.destroy();
      child.kill();
      await once(child, "exit");
    },
  };
}

function openStdio(who) {
  const child = spawn(process.execPath, [SERVER, who, "stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let id = 0;
  return {
    async send(method, params) {
      id += 1;
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: META } })}\n`);
      const { value } = await lines.next();
      if (!value?.includes("hello")) throw new Error(`${who} answered ${value}`);
    },
    async close() {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}
