/** An MCP client of raw bytes, so that no client's work counts, and the servers that it asks. */
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { BELLJAR, ROOT } from "./harness.mjs";

export const SERVER = join(ROOT, "bench/fixtures/tool-server.mjs");
const VERSION = "2026-07-28";
const LEGACY = "2025-11-25";
export const META = {
  "io.modelcontextprotocol/protocolVersion": VERSION,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
};
export const CALL = { name: "echo", arguments: { text: "hello" } };
const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** One that keeps its connections; disposing of it is the caller's. */
export function openClient(origin, connections = 32) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const send = async (body, headers) => {
    const sent = request(new URL("/mcp", origin), { method: "POST", agent, headers: { ...HEADERS, ...headers } });
    sent.end(JSON.stringify({ jsonrpc: "2.0", ...body }));
    const [response] = await once(sent, "response");
    const text = await read(response);
    if (response.statusCode !== 200 || text.includes('"isError":true') || text.includes('"error":{'))
      throw new Error(`It answered ${response.statusCode}: ${text.slice(0, 300)}`);
    return text;
  };
  const post = async (method, params, id) => {
    const named = params.name ? { "mcp-name": params.name } : {};
    const headers = { "mcp-protocol-version": VERSION, "mcp-method": method, ...named };
    return send({ id, method, params: { ...params, _meta: META } }, headers);
  };
  return {
    /** Resolves with the bytes of the answer, as text. */
    post,
    /** So many calls, with so many in flight at all times. */
    async callAll(count, atOnce, call = CALL) {
      let left = count;
      const work = async () => {
        while (left > 0) await post("tools/call", call, left--);
      };
      await Promise.all(Array.from({ length: atOnce }, work));
    },
    /** A session of the older revisions, which nobody ends. */
    async openSession() {
      const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: "bench", version: "1" } };
      await send({ id: 1, method: "initialize", params }, {});
    },
    close: () => agent.destroy(),
  };
}

async function read(response) {
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}

/** The trivial tool, served by `belljar` or `bare`, in a process of its own. */
export async function openToolServer(who, count = 1) {
  const stdio = ["ignore", "inherit", "inherit", "ipc"];
  const child = fork(SERVER, [who, "http", String(count)], { stdio, execArgv: ["--expose-gc"] });
  const [{ port }] = await once(child, "message");
  const origin = `http://127.0.0.1:${port}`;
  const client = openClient(origin);
  return {
    ...client,
    origin,
    /** `{cpuUs, heapBytes, residentBytes}` so far; of what is `memory`, garbage is collected first. */
    async cost(what = "time") {
      child.send(what);
      const [cost] = await once(child, "message");
      return cost;
    },
    async close() {
      client.close();
      child.kill();
      await once(child, "exit");
    },
  };
}

/** `belljar serve`, with a client. */
export async function openServe(env, ...args) {
  const child = spawn(process.execPath, [BELLJAR, "serve", "--port", "0", ...args], { env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  while (!/MCP at \S+\/mcp/.test(said)) {
    const [chunk] = await once(child.stderr, "data");
    said += chunk;
  }
  child.stderr.resume();
  const origin = /MCP at (\S+)\/mcp/.exec(said)[1];
  const client = openClient(origin);
  return {
    client,
    origin,
    async close() {
      client.close();
      child.kill();
      await once(child, "exit");
    },
  };
}
