import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compare, NEVER, ROOT, scaled, summarise, time, until } from "../harness.mjs";
import { openClient, openServe, openToolServer } from "../mcp-client.mjs";

const ECHO = readFileSync(join(ROOT, "bench/fixtures/echo-server.mjs"), "utf8");
const PROGRAM = { command: process.execPath, args: ["--input-type=module", "-e", ECHO] };
const AT_ONCE = 32;
const BATCH = 320;
const SERVERS = 50;
const TOOLS_EACH = 20;
const START_MS = 60_000;
/** Of the slow server, with every answer; and how many calls wait for it at all times, so that its queue has some of them. */
const LATE_MS = scaled(10_000);
const LATE_CALLS = 96;
const LATE = { ...PROGRAM, env: { LATE_MS: String(LATE_MS) } };
/** It answers three requests, one after the other, before its tools are known. */
const LATE_LISTED_MS = 120_000;

export const limitMs = 480_000;

/**
 * Other servers behind `belljar serve`: what it adds to a call, what passes through it, its list, the start of a server in a sandbox, and what a slow
 * server takes from others.
 */
export async function measure(home) {
  const front = await openToolServer("belljar");
  const bare = await openToolServer("bare", TOOLS_EACH);
  try {
    return [
      ...(await callsOfPrograms(home, front)),
      ...(await callsOverHttp(home, bare)),
      await lists(home, bare),
      await starts(home),
      ...(await besideLate(home)),
    ];
  } finally {
    await bare.close();
    await front.close();
  }
}

/** The reference is the same tool in the server's own process. */
async function callsOfPrograms(home, front) {
  const call = (client, name, id) => client.post("tools/call", { name, arguments: { text: "hello" } }, id);
  let id = 0;
  const compared = await withHub(home, { mcpServers: { echo: PROGRAM } }, (client) =>
    compare({
      reference: () => call(front, "echo", (id += 1)),
      measured: () => call(client, "mcp_echo_echo", (id += 1)),
      blocks: 10,
      each: 100,
    }),
  );
  const beside = "the same tool in Belljar's own process";
  const added = { p50: compared.measured.p99 - compared.reference.p99, n: compared.measured.n };
  return [
    { what: "a call of a stdio server in a sandbox through the hub, HTTP in", added: 1, beside, ...compared },
    { what: "the p99 of that above the reference's", most: 5, measured: { ...added, p95: added.p50, p99: added.p50 } },
  ];
}

/** As a time for each call, so that less is better in every row. */
async function callsOverHttp(home, bare) {
  const perCall = async (client, name) =>
    (await time(() => client.callAll(BATCH, AT_ONCE, { name, arguments: { text: "hello" } }))) / BATCH;
  const compared = await withHub(home, { mcpServers: { far: { url: `${bare.origin}/mcp` } } }, (client) =>
    compare({ reference: () => perCall(bare, "echo"), measured: () => perCall(client, "mcp_far_echo"), blocks: 6, each: 4 }),
  );
  return [{ what: `a call of an HTTP server through the hub, ${AT_ONCE} at once`, goal: 2, beside: "straight to it", ...compared }];
}

async function lists(home, bare) {
  const entries = Array.from({ length: SERVERS }, (_, index) => [`s${index}`, { url: `${bare.origin}/mcp?server=${index}` }]);
  const config = { mcpServers: Object.fromEntries(entries), env: { BELLJAR_MCP_LIST_MAX: String(SERVERS * TOOLS_EACH) } };
  const samples = [];
  await withHub(home, config, async (client) => {
    for (let run = 0; run < scaled(300); run += 1) samples.push(await time(() => client.post("tools/list", {}, run)));
  });
  return { what: `tools/list of ${SERVERS} servers with ${SERVERS * TOOLS_EACH} tools over HTTP`, most: 3, measured: summarise(samples) };
}

/** The least server that the official SDK makes, until it has answered its first list, by the same client. */
async function starts(home) {
  const { openInstance } = await import("../../dist/lib/mcp/proxy/server-instance.js");
  const server = (folder, settings) => {
    const args = [`${folder}/bench/fixtures/bare-server.mjs`];
    const target = { kind: "stdio", name: "bare", command: "node", args, env: { PATH: process.env.PATH }, ownEnv: {}, cwd: undefined };
    return { name: "bare", target, settings: { network: "none", rename: {}, ...settings } };
  };
  const inside = server("/workspace", { isolation: "sandbox", mount: { host: ROOT, mode: "ro" } });
  const outside = server(ROOT, { isolation: "none" });
  const parts = { sandboxes: { create: (_principal, options) => home.create(options) }, version: "1" };
  const ears = { principal: { id: "local", name: "local" }, events: {}, said: () => undefined, signal: NEVER };
  const start = (one) => () => untilListed(() => openInstance(parts, one, ears));
  const compared = await compare({ reference: start(outside), measured: start(inside), blocks: 5, each: 5 });
  return {
    what: "start of a stdio server in a sandbox, until it has listed its tools",
    goal: 1.15,
    beside: "the same server bare",
    ...compared,
  };
}

/** Two hubs in turn: one of them has a server that is late with everything, and calls that wait for it at all times. */
async function besideLate(home) {
  const compared = await withHub(home, { mcpServers: { echo: PROGRAM } }, (alone) =>
    withHub(home, { mcpServers: { echo: PROGRAM, late: LATE }, listedMs: LATE_LISTED_MS }, (beside, origin) =>
      whileCalled(origin, async () => {
        const call = (client) => () => client.post("tools/call", { name: "mcp_echo_echo", arguments: { text: "hello" } }, 1);
        const list = (client) => () => client.post("tools/list", {}, 1);
        const turns = { blocks: 20, each: 100 };
        return [
          ["calls of another server", await compare({ reference: call(alone), measured: call(beside), ...turns })],
          ["tools/list", await compare({ reference: list(alone), measured: list(beside), ...turns })],
        ];
      }),
    ),
  );
  return compared.flatMap(([what, { reference, measured }]) => {
    const more = measured.p99 - reference.p99;
    return [
      { what: `${what}, while a server is ${LATE_MS / 1_000} s late with everything`, beside: "without that server", reference, measured },
      { what: "the p99 of that above the reference's", most: 5, measured: { p50: more, p95: more, p99: more, n: measured.n } },
    ];
  });
}

/** Some calls wait for the late server while the work goes on. */
async function whileCalled(origin, work) {
  const client = openClient(origin, LATE_CALLS);
  let isOver = false;
  const keepCalling = async () => {
    while (!isOver) await client.post("tools/call", { name: "mcp_late_echo", arguments: { text: "late" } }, 1);
  };
  const calling = Promise.allSettled(Array.from({ length: LATE_CALLS }, keepCalling));
  try {
    return await work();
  } finally {
    isOver = true;
    client.close();
    await calling;
  }
}

/** Its end is not measured. */
async function untilListed(open) {
  const started = performance.now();
  const instance = await open();
  await instance.session.request("tools/list", {}, { signal: NEVER, timeoutMs: START_MS });
  const took = performance.now() - started;
  await instance[Symbol.asyncDispose]();
  return took;
}

/** `belljar serve` with these servers, once all of them have listed their tools. */
async function withHub(home, { mcpServers, env = {}, listedMs }, work) {
  const folder = mkdtempSync(join(tmpdir(), "bjhub-"));
  const file = join(folder, "mcp.json");
  writeFileSync(file, JSON.stringify({ mcpServers }));
  const serving = await openServe({ ...home.env, ...env }, "--mcp-config", file);
  try {
    await until(async () => {
      const { servers } = await (await fetch(new URL("/v1/servers", serving.origin))).json();
      return servers.every(({ tools }) => tools.length > 0);
    }, listedMs);
    return await work(serving.client, serving.origin);
  } finally {
    await serving.close();
    rmSync(folder, { recursive: true });
  }
}
