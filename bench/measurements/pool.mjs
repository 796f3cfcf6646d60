import { Client } from "@modelcontextprotocol/client";
import { setTimeout as pause } from "node:timers/promises";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { BELLJAR, NEVER, PYTHON, compare, scaled, SETTLE_MS, summarise, until, waiting } from "../harness.mjs";
import { openPooled } from "../pooled.mjs";

const EACH = 60;
const PROGRAM = { name: "execute_code", arguments: { language: "python", entrypoint_code: "print(6 * 7)" } };
const RUN = { code: "1+1", language: "python", timeoutMs: 60_000, signal: NEVER, maxOutputBytes: 1_000_000 };

/** Sandboxes that wait: each is taken when it is ready, as callers come who leave the host the time to make the next one. */
export async function measure(home) {
  return [
    { what: "create from the pool + first run_code, through the library", most: 8, measured: await takeSandboxes(home) },
    { what: "execute_code python from the pool, end to end over stdio", beside: PYTHON.what, ...(await takePrograms(home)) },
  ];
}

async function takeSandboxes({ config }) {
  const { runCode } = await import("../../dist/lib/index.js");
  const pool = await openPooled(config);
  const samples = [];
  try {
    for (let turn = 0; turn <= scaled(EACH); turn += 1) {
      await pool.full();
      const started = performance.now();
      const sandbox = await pool.take();
      const { values } = await runCode(sandbox, RUN);
      if (turn > 0) samples.push(performance.now() - started);
      if (values[0]?.data["text/plain"] !== "2") throw new Error(`It answered ${JSON.stringify(values)}`);
      await sandbox.kill();
    }
  } finally {
    await pool.close();
  }
  return summarise(samples);
}

/** The first call has none yet. */
async function takePrograms(home) {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [BELLJAR, "mcp"], env: home.env, stderr: "inherit" }));
  const call = async () => {
    const { content, isError } = await client.callTool(PROGRAM);
    if (isError || !content[0].text.startsWith("--- stdout ---\n42\n")) throw new Error(`It answered ${JSON.stringify(content)}`);
  };
  await call();
  const measured = async () => {
    await until(() => waiting(home.config).length === 1);
    // The sandbox of the call before is still being removed.
    await pause(SETTLE_MS);
    const started = performance.now();
    await call();
    return performance.now() - started;
  };
  try {
    return await compare({ reference: PYTHON.run, measured, blocks: 5, each: 8 });
  } finally {
    await client.close();
  }
}
