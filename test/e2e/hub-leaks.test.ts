import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { mapLimit } from "../../src/async/map-limit.ts";
import { hubServer } from "../support/hub-lab.ts";
import { openTestHome, openTestServer } from "../support/served-home.ts";

const CLIENTS = resolve(import.meta.dirname, "../fixtures/hanging-clients.mjs");
const CALLS = 10_000;
const AT_ONCE = 16;
const BATCHES = 10;
const EACH = 10;
const TOLD = new Set(["sandbox.json", "tombstone.json", "storage", "end.json"]);
const VERSION = "2026-07-28";

async function callOnce(url: string): Promise<string> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  };
  const headers = { "mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": "mcp_one_count" };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "mcp_one_count", arguments: {}, _meta } };
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify(body),
  });
  return response.text();
}

/** Kills them, with their calls open. */
async function killClients(url: string): Promise<void> {
  const child = spawn(process.execPath, [CLIENTS, `${url}/mcp`, String(EACH)], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended]);
  expect(line).toBe("all hang");
  child.kill("SIGKILL");
  await ended;
}

/** Of processes that have a text in their command line, as what Belljar starts has its home. */
async function processesOf(text: string): Promise<readonly string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return lines.filter((line) => line.includes(text));
}

/** Beside what says of each sandbox that it was, for some minutes. */
async function leftOf(sandboxes: string): Promise<readonly string[]> {
  const files = await readdir(sandboxes, { recursive: true, withFileTypes: true });
  return files.filter((one) => one.isFile() && !TOLD.has(one.name)).map(({ name }) => name);
}

it("leaves no process and no sandbox after ten thousand calls and a hundred killed clients", { timeout: 240_000 }, async () => {
  await using home = await openTestHome();
  const folder = await mkdtemp(join(tmpdir(), "bj-hub-"));
  await writeFile(join(folder, "mcp.json"), JSON.stringify({ mcpServers: { one: hubServer() } }));
  try {
    const server = await openTestServer(home, 0, "--mcp-config", join(folder, "mcp.json"));
    try {
      await fetch(`${server.url}/v1/servers/one/restart`, { method: "POST" }); // resolves once it has listed its tools
      for (let batch = 0; batch < BATCHES; batch += 1) await killClients(server.url);
      const answers = await mapLimit(Array.from({ length: CALLS }), AT_ONCE, () => callOnce(server.url));
      expect(answers.filter((answer) => !answer.includes('"resultType":"complete"'))).toEqual([]);
      // All of them reached one instance, each once.
      expect(answers.filter((answer) => answer.includes(`"text":"${CALLS}"`))).toHaveLength(1);
    } finally {
      await server[Symbol.asyncDispose]();
    }
    expect(JSON.parse(await home.belljar("sandbox", "list", "--json"))).toEqual([]);
    expect(await leftOf(join(home.path, ".belljar/sandboxes"))).toEqual([]);
    expect(await readFile("/proc/self/mountinfo", "utf8")).not.toContain(home.path);
    expect(await processesOf(home.path)).toEqual([]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
