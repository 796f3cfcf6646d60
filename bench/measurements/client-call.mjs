import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { BELLJAR, ROOT, compare } from "../harness.mjs";

const SERVER = [join(ROOT, "bench/fixtures/tool-server.mjs"), "bare", "stdio"];
const INSPECTOR = join(ROOT, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");

/** The whole process: it starts the server, lists its tools, calls one, prints the answer and ends both. */
export async function measure(home) {
  const folder = mkdtempSync(join(tmpdir(), "bj-client-"));
  const config = join(folder, "servers.json");
  writeFileSync(config, JSON.stringify({ mcpServers: { bare: { command: process.execPath, args: SERVER } } }));
  const called = ["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "text=hi"];
  try {
    return [
      {
        what: "belljar client call of a stdio server, whole process",
        goal: 1.3,
        beside: "the MCP Inspector's CLI 2.12.0, the same call",
        ...(await compare({
          reference: () => answerOf([INSPECTOR, "--cli", process.execPath, ...SERVER, ...called], home.env),
          measured: () => answerOf([BELLJAR, "client", "call", "bare", "echo", "text=hi", "--config", config], home.env),
          blocks: 8,
          each: 2,
        })),
      },
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function answerOf(argv, env) {
  const started = performance.now();
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"], env });
  const [shown, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  const took = performance.now() - started;
  if (code !== 0 || !shown.includes("hi")) throw new Error(`${argv[0]} ended with ${code}: ${shown}`);
  return took;
}
