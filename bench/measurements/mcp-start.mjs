import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { BELLJAR, ROOT, compare } from "../harness.mjs";

const BARE = join(ROOT, "bench/fixtures/bare-server.mjs");
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
};
const INITIALIZED = { jsonrpc: "2.0", method: "notifications/initialized" };
const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list" };

/** From the start of the process to the answer of `tools/list`; raw bytes, so that no client's own work counts. */
export async function measure(home) {
  const works = { reference: () => startAndList([BARE], home.env), measured: () => startAndList([BELLJAR, "mcp"], home.env) };
  return [
    {
      what: "belljar mcp: process start to tools/list",
      goal: 1.2,
      beside: "a bare SDK stdio server",
      ...(await compare({ ...works, blocks: 8, each: 2 })),
    },
  ];
}

async function startAndList(argv, env) {
  const started = performance.now();
  const child = spawn(process.execPath, argv, { stdio: ["pipe", "pipe", "inherit"], env });
  const closed = once(child, "close");
  const send = (...messages) => child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  send(INITIALIZE);
  for await (const line of createInterface({ input: child.stdout })) {
    const { id, result } = JSON.parse(line);
    if (id === 1) send(INITIALIZED, LIST);
    if (id !== 2) continue;
    const took = performance.now() - started;
    if (!result.tools.length) throw new Error(`It listed nothing: ${line}`);
    child.stdin.end();
    await closed;
    return took;
  }
  throw new Error(`${argv[0]} ended without an answer`);
}
