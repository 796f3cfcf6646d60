import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { compare, summarise } from "../harness.mjs";
import { CALL, META, SERVER, openToolServer } from "../mcp-client.mjs";

const AT_ONCE = 32;
const BATCH = 320;
const ROUNDS = 5;

/** Tools over MCP, beside the official SDK's own low-level server with the same tool; raw bytes, so that no client's work counts. */
export async function measure() {
  return [
    ...(await withServers(
      measureParallel,
      () => openToolServer("bare"),
      () => openToolServer("belljar"),
    )),
    await withServers(
      measureStdio,
      () => openStdio("bare"),
      () => openStdio("belljar"),
    ),
    await withServers(measureList, () => openToolServer("belljar", 1_000)),
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

/** As a time per call, so that less is better in every row; the servers' own CPU time too, which a busy machine changes least. */
async function measureParallel(bare, belljar) {
  const cpu = { bare: [], belljar: [] };
  const perCall = async (server, costs) => {
    const before = await server.cost();
    const started = performance.now();
    await server.callAll(BATCH, AT_ONCE);
    const elapsedMs = performance.now() - started;
    costs.push(((await server.cost()).cpuUs - before.cpuUs) / 1_000 / BATCH);
    return elapsedMs / BATCH;
  };
  const works = { reference: () => perCall(bare, cpu.bare), measured: () => perCall(belljar, cpu.belljar) };
  const compared = await compare({ ...works, blocks: ROUNDS, each: 4 });
  const about = { goal: 1.2, beside: "the bare SDK server" };
  return [
    { what: `MCP tools/call over HTTP, ${AT_ONCE} at once`, ...about, ...compared },
    { what: "the same, CPU time of the server", ...about, reference: summarise(cpu.bare), measured: summarise(cpu.belljar) },
  ];
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
